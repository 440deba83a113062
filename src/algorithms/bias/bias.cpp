// SPDX-License-Identifier: Apache-2.0
#include "algorithms/bias/bias.h"

#include <utility>

#include "algorithms/cost.h"
#include "algorithms/finite.h"
#include "model/learned_parts.h"
#include "training/growth.h"
#include "training/learning.h"

namespace likewise {
namespace {

class Bias final : public AlgorithmOf<BiasParams> {
 public:
  using AlgorithmOf::AlgorithmOf;

  [[nodiscard]] std::string_view name() const override { return kBiasRow.name; }
  [[nodiscard]] TrainingParams with_usual_values() const override {
    BiasParams filled = params();
    if (filled.baseline == BiasKind::kBiases) filled.baseline_epochs = filled.epochs();
    return filled;
  }
  void check_values(const CsrView& by_user) const override {
    likewise::check_values(by_user, params());
  }
  [[nodiscard]] double core_seconds(const CsrView& by_user) const override {
    return static_cast<double>(by_user.nnz()) / kEntryRate;
  }
  void learn(const Learning& learning) const override {
    learning.at_once(
        [&] { return train_biases(learning.by_user(), params(), learning.control()); });
  }

  void check_learned(const LearnedCheck& check) const override {
    check.biases("baseline " + parameter_text(params(), "baseline"), params().of_users(),
                 params().of_items());
  }
  [[nodiscard]] Learned load_learned(SavedParts& saved) const override { return saved.biases(); }

  [[nodiscard]] BiasParams scores_of_biases() const override { return params(); }

  [[nodiscard]] Refined update(const UpdateTask& task) const override {
    Biases learned = train_biases(task.growth.history.view(), params(), task.control);
    return {std::move(learned), params().of_users() ? task.growth.users.ids.size() : 0,
            params().of_items() ? task.growth.items.ids.size() : 0};
  }

  [[nodiscard]] bool predicts_ratings() const override { return true; }
  [[nodiscard]] bool ranks_items() const override { return params().of_items(); }
};

}  // namespace

std::unique_ptr<const Algorithm> make_algorithm(const BiasParams& params) {
  return std::make_unique<Bias>(params);
}

}  // namespace likewise
