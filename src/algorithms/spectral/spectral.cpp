// SPDX-License-Identifier: Apache-2.0
#include "algorithms/spectral/spectral.h"

#include <cmath>
#include <utility>
#include <vector>

#include "algorithms/cost.h"
#include "algorithms/finite.h"
#include "algorithms/parameters/validate.h"
#include "algorithms/row_counts.h"
#include "algorithms/spectral/params.h"
#include "algorithms/spectral/user_sums.h"
#include "backends/jobs/device_jobs.h"
#include "core/system/parallel.h"
#include "likewise/error.h"
#include "model/learned_parts.h"
#include "serving/spectral_rows.h"
#include "training/growth.h"
#include "training/learning.h"

namespace likewise {

void SpectralParams::validate() const {
  check_ranges(*this);
  if (feedback == Feedback::kImplicit) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      mentions("{feedback} must be implicit with spectral, whose scores rank items; from explicit "
               "ratings als and sgd learn"));
}

namespace {

/// Throws PlacedError(kBadData) for a value beyond what rows can be compared by.
void check_spectral_values(const CsrView& by_user) { check_values(by_user, KnnParams{}); }

[[nodiscard]] SpectralShape shape_of(const CsrView& by_user, const SpectralParams& params) {
  return {by_user.rows, by_user.cols, by_user.nnz(), params.factors};
}

/// y_i = n_i^b V_i S^(h/2), in the place of V.
void scale_items(const CsrView& by_user, const SpectralParams& params,
                 const std::vector<double>& singular, Matrix& items) {
  std::vector<double> of_column;
  for (const double s : singular) {
    of_column.push_back(s > 0.0 ? std::pow(s, 0.5 * params.spectrum_exponent) : 0.0);
  }
  const std::vector<Offset> counts = column_counts(by_user);
  parallel_for(items.rows(), 256, [&](Offset i) {
    const double of_row =
        std::pow(static_cast<double>(counts[static_cast<std::size_t>(i)]), params.item_exponent);
    float* const y = items.row(static_cast<Index>(i));
    for (std::size_t f = 0; f < of_column.size(); ++f) {
      y[f] = static_cast<float>(of_row * double{y[f]} * of_column[f]);
    }
  });
}

}  // namespace

Factors train_spectral(const CsrView& by_user, const SpectralParams& params, const Device& device,
                       const RunControl& control) {
  params.validate();
  check_spectral_values(by_user);
  const SpectralJob& spectral = job<SpectralJob>(device);
  (void)spectral.plan(shape_of(by_user, params));
  SpectralFactors found = spectral.decompose(by_user, params.factors, params.seed, control);
  Factors factors;
  factors.items = std::move(found.items);
  scale_items(by_user, params, found.singular, factors.items);
  factors.users =
      spectral.users(by_user, scale_of_items(by_user, params.item_exponent), factors.items);
  return factors;
}

namespace {

class Spectral final : public AlgorithmOf<SpectralParams> {
 public:
  using AlgorithmOf::AlgorithmOf;

  [[nodiscard]] std::string_view name() const override { return kSpectralRow.name; }
  void check_values(const CsrView& by_user) const override { check_spectral_values(by_user); }

  [[nodiscard]] double core_seconds(const CsrView& by_user) const override {
    return spectral_core_seconds(shape_of(by_user, params()));
  }
  [[nodiscard]] std::optional<Job> training_job() const override { return Job::kSpectral; }
  [[nodiscard]] MemoryPlan memory(const Device& device, const CsrView& by_user) const override {
    return job<SpectralJob>(device).plan(shape_of(by_user, params()));
  }
  [[nodiscard]] std::optional<Job> predictions_job() const override { return Job::kPredictions; }

  void learn(const Learning& learning) const override {
    learning.at_once([&] {
      return train_spectral(learning.by_user(), params(), learning.device(), learning.control());
    });
  }

  void check_learned(const LearnedCheck& check) const override {
    check.factors(params().factors, {});
  }
  [[nodiscard]] bool learns_factors() const override { return true; }
  [[nodiscard]] Learned load_learned(SavedParts& saved) const override { return saved.factors(); }

  [[nodiscard]] std::unique_ptr<FoldInSolver> fold_in_solver(const Model& model,
                                                             const Factors& factors,
                                                             Side side) const override {
    if (side == Side::kItems) {
      throw Error(ErrorKind::kInvalidArgument,
                  "spectral learns items from all users at once: new items need a new training, or "
                  "an update");
    }
    if (model.history.rows == 0 && model.users.size() > 0) {
      throw Error(ErrorKind::kInvalidArgument,
                  "new users of a spectral model need its history, which says how many users have "
                  "an item, and this one has none");
    }
    return std::make_unique<SpectralRows>(factors, params(), model.history.view());
  }

  [[nodiscard]] Refined update(const UpdateTask& task) const override {
    const CsrView history = task.growth.history.view();
    return {train_spectral(history, params(), task.device, task.control), history.rows,
            history.cols};
  }

  [[nodiscard]] bool predicts_ratings() const override { return false; }
};

}  // namespace

std::unique_ptr<const Algorithm> make_algorithm(const SpectralParams& params) {
  return std::make_unique<Spectral>(params);
}

}  // namespace likewise
