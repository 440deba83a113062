// SPDX-License-Identifier: Apache-2.0
#include "algorithms/baselines.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/parallel.h"
#include "likewise/error.h"
#include "likewise/neighbourhood.h"

namespace likewise {
namespace {

using Biases = std::vector<double>;

[[nodiscard]] double mean_value(const CsrView& matrix) {
  double sum = 0.0;
  for (Offset e = 0; e < matrix.nnz(); ++e) sum += double{matrix.values[e]};
  return matrix.nnz() == 0 ? 0.0 : sum / static_cast<double>(matrix.nnz());
}

/// b_x = sum over the row of (r - mean - b_y) / (regularization + entries)
void solve_biases(const CsrView& rows, double mean, const Biases& others, double regularization,
                  Biases& biases) {
  parallel_for(rows.rows, 256, [&](Offset r) {
    const auto row = static_cast<Index>(r);
    const auto columns = rows.row_columns(row);
    const auto values = rows.row_values(row);
    if (columns.empty()) return;
    double sum = 0.0;
    for (std::size_t e = 0; e < columns.size(); ++e) {
      sum += double{values[e]} - mean - others[static_cast<std::size_t>(columns[e])];
    }
    biases[static_cast<std::size_t>(r)] =
        sum / (regularization + static_cast<double>(columns.size()));
  });
}

void fit_als(const CsrView& by_user, double mean, const NeighbourParams& params, Biases& users,
             Biases& items) {
  const CsrMatrix by_item = transpose(by_user);
  for (int epoch = 0; epoch < params.baseline_epochs.value_or(10); ++epoch) {
    solve_biases(by_item.view(), mean, users, params.baseline_item_regularization, items);
    solve_biases(by_user, mean, items, params.baseline_user_regularization, users);
  }
}

void fit_sgd(const CsrView& by_user, double mean, const NeighbourParams& params, Biases& users,
             Biases& items) {
  const double rate = params.baseline_learning_rate;
  const double lambda = params.baseline_regularization;
  for (int epoch = 0; epoch < params.baseline_epochs.value_or(20); ++epoch) {
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
void check_converged(const CsrView& by_user, double mean, const Biases& users,
                     const Biases& items) {
  double farthest = 0.0;
  for (Offset e = 0; e < by_user.nnz(); ++e) {
    farthest = std::max(farthest, std::abs(double{by_user.values[e]} - mean));
  }
  for (const Biases* biases : {&users, &items}) {
    for (const double bias : *biases) {
      if (std::abs(bias) <= 1e3 * farthest) continue;
      throw Error(
          ErrorKind::kNumerical,
          fmt::format("the baselines diverge: a bias of {:.3g} where no rating is more than "
                      "{:.3g} from the mean; use a smaller baseline_learning_rate, or "
                      "baseline_method als",
                      bias, farthest));
    }
  }
}

[[nodiscard]] Array<float> rounded(const Biases& biases) {
  auto result = Array<float>::uninitialized(static_cast<Offset>(biases.size()));
  for (std::size_t i = 0; i < biases.size(); ++i) {
    result[static_cast<Offset>(i)] = static_cast<float>(biases[i]);
  }
  return result;
}

}  // namespace

Baselines train_baselines(const CsrView& by_user, const NeighbourParams& params) {
  const double mean = mean_value(by_user);
  Biases users(static_cast<std::size_t>(by_user.rows));
  Biases items(static_cast<std::size_t>(by_user.cols));
  const bool als = params.baseline_method == BaselineMethod::kAls;
  (als ? fit_als : fit_sgd)(by_user, mean, params, users, items);
  check_converged(by_user, mean, users, items);
  return {rounded(users), rounded(items), static_cast<float>(mean)};
}

Baselines needed_baselines(const CsrView& by_user, const NeighbourParams& params) {
  return params.needs_baselines() ? train_baselines(by_user, params) : Baselines{};
}

}  // namespace likewise
