// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "algorithms/bias/bias.h"
#include "algorithms/bias/params.h"
#include "algorithms/bias/row_bias.h"
#include "algorithms/finite.h"
#include "algorithms/parameters/validate.h"
#include "core/system/parallel.h"
#include "likewise/bias.h"
#include "likewise/error.h"

namespace likewise {
namespace {

using BiasValues = std::vector<double>;

[[nodiscard]] double mean_rating(const CsrView& matrix) {
  double sum = 0.0;
  for (Offset e = 0; e < matrix.nnz(); ++e) sum += double{matrix.values[e]};
  return matrix.nnz() == 0 ? 0.0 : sum / static_cast<double>(matrix.nnz());
}

void solve_biases(const CsrView& rows, double mean, const BiasValues& others, double regularization,
                  BiasValues& biases) {
  parallel_for(rows.rows, 256, [&](Offset r) {
    const auto row = static_cast<Index>(r);
    biases[static_cast<std::size_t>(r)] = row_bias(
        rows.row_columns(row), rows.row_values(row), mean,
        [&](Index column) { return others[static_cast<std::size_t>(column)]; }, regularization);
  });
}

void fit_als(const CsrView& by_user, double mean, const BiasParams& params,
             const RunControl& control, BiasValues& users, BiasValues& items) {
  const CsrMatrix by_item = transpose(by_user);
  for (int epoch = 0; epoch < params.epochs(); ++epoch) {
    control.check();
    solve_biases(by_item.view(), mean, users, params.baseline_item_regularization, items);
    solve_biases(by_user, mean, items, params.baseline_user_regularization, users);
  }
}

void fit_sgd(const CsrView& by_user, double mean, const BiasParams& params,
             const RunControl& control, BiasValues& users, BiasValues& items) {
  const double rate = params.baseline_learning_rate;
  const double lambda = params.baseline_regularization;
  for (int epoch = 0; epoch < params.epochs(); ++epoch) {
    control.check();
    for (Index user = 0; user < by_user.rows; ++user) {
      double& b_u = users[static_cast<std::size_t>(user)];
      for (Offset e = by_user.offsets[user]; e < by_user.offsets[user + 1]; ++e) {
        double& b_i = items[static_cast<std::size_t>(by_user.columns[e])];
        const double error = double{by_user.values[e]} - (mean + b_u + b_i);
        b_u += rate * (error - lambda * b_u);
        b_i += rate * (error - lambda * b_i);
      }
    }
  }
}

/// Biases explain what ratings are away from their mean: far beyond that, the steps were too long.
/// (Alternating least squares cannot do that.)
void check_converged(const CsrView& by_user, double mean, const BiasValues& users,
                     const BiasValues& items) {
  double farthest = 0.0;
  for (Offset e = 0; e < by_user.nnz(); ++e) {
    farthest = std::max(farthest, std::abs(double{by_user.values[e]} - mean));
  }
  for (const BiasValues* biases : {&users, &items}) {
    for (const double bias : *biases) {
      if (std::abs(bias) <= 1e3 * farthest) continue;
      throw Error(
          ErrorKind::kNumerical,
          fmt::format("the baselines diverge: a bias of {:.3g} where no rating is more than "
                      "{:.3g} from the mean; use a smaller {} or {}, or {}",
                      bias, farthest, mention("baseline_learning_rate"),
                      mention("baseline_regularization"), mention("baseline_method", "als")));
    }
  }
}

[[nodiscard]] Array<float> rounded(const BiasValues& biases) {
  auto result = Array<float>::uninitialized(static_cast<Offset>(biases.size()));
  for (std::size_t i = 0; i < biases.size(); ++i) {
    result[static_cast<Offset>(i)] = static_cast<float>(biases[i]);
  }
  return result;
}

/// How far the mean of every row is off the mean of all.
[[nodiscard]] Array<float> row_means(const CsrView& rows, double mean) {
  BiasValues biases(static_cast<std::size_t>(rows.rows));
  solve_biases(rows, mean, BiasValues(static_cast<std::size_t>(rows.cols)), 0.0, biases);
  return rounded(biases);
}

[[nodiscard]] Biases fit_biases(const CsrView& by_user, double mean, const BiasParams& params,
                                const RunControl& control) {
  BiasValues users(static_cast<std::size_t>(by_user.rows));
  BiasValues items(static_cast<std::size_t>(by_user.cols));
  const bool als = params.baseline_method == BiasMethod::kAls;
  (als ? fit_als : fit_sgd)(by_user, mean, params, control, users, items);
  check_converged(by_user, mean, users, items);
  return {rounded(users), rounded(items), static_cast<float>(mean)};
}

}  // namespace

void BiasParams::validate() const {
  check_ranges(*this);
  if (feedback == Feedback::kImplicit) {
    throw Error(
        ErrorKind::kInvalidArgument,
        mentions("bias needs {feedback explicit}: counts have no baselines; their baseline is the "
                 "algorithm popular"));
  }
}

Biases train_biases(const CsrView& by_user, const BiasParams& params, const RunControl& control) {
  params.validate();
  check_values(by_user, params);
  const double mean = mean_rating(by_user);
  switch (params.baseline) {
    case BiasKind::kGlobalMean:
      return {{}, {}, static_cast<float>(mean)};
    case BiasKind::kUserMean:
      return {row_means(by_user, mean), {}, static_cast<float>(mean)};
    case BiasKind::kItemMean:
      return {{}, row_means(transpose(by_user).view(), mean), static_cast<float>(mean)};
    case BiasKind::kBiases:
      break;
  }
  return fit_biases(by_user, mean, params, control);
}

}  // namespace likewise
