// SPDX-License-Identifier: Apache-2.0
#include "serving/fold_in.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include <fmt/format.h>

#include "likewise/error.h"
#include "serving/least_squares_rows.h"
#include "serving/logistic_rows.h"
#include "serving/ranked_rows.h"

namespace likewise {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::kInvalidArgument, message);
}

/// Which solver goes with which parameters.
struct SolverMaker {
  const Model& model;
  const Factors& factors;
  Side side;

  std::unique_ptr<FoldInSolver> operator()(const AlsParams& params) const {
    return std::make_unique<LeastSquaresRows>(factors, row_weights(params), side);
  }
  std::unique_ptr<FoldInSolver> operator()(const SgdParams& params) const {
    if (params.loss == SgdLoss::kLogistic) {
      return std::make_unique<LogisticRows>(factors, params, side);
    }
    return std::make_unique<LeastSquaresRows>(factors, row_weights(params), side);
  }
  std::unique_ptr<FoldInSolver> operator()(const BprParams& params) const {
    if (side == Side::kItems) {
      refuse(
          "bpr learns an item by comparing it with others for the users who liked either: new "
          "items need a new training");
    }
    return std::make_unique<RankedRows>(factors, params, model.history.view());
  }
  std::unique_ptr<FoldInSolver> operator()(const NeighbourParams&) const { no_factors(); }
  std::unique_ptr<FoldInSolver> operator()(const PopularParams&) const { no_factors(); }
  std::unique_ptr<FoldInSolver> operator()(const BiasParams&) const { no_factors(); }

  [[noreturn]] void no_factors() const {
    refuse(fmt::format("{} has no factors to fold new rows in with", model.algorithm()));
  }
};

}  // namespace

void check_fold_in_row(const FoldInRow& row, Index columns, const char* what) {
  if (!row.values.empty() && row.values.size() != row.columns.size()) {
    refuse(fmt::format("{} values for {} {}s", row.values.size(), row.columns.size(), what));
  }
  for (const Index column : row.columns) {
    if (column < 0 || column >= columns) {
      refuse(fmt::format("{} {} is outside [0, {})", what, column, columns));
    }
  }
  for (const float value : row.values) {
    if (!(std::abs(value) <= kLargestNumber)) {
      refuse(fmt::format("the value {} is not a number of at most {:g} in size", value,
                         kLargestNumber));
    }
  }
  std::vector<Index> sorted = row.columns;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) refuse(fmt::format("{} {} appears twice", what, *twice));
}

std::unique_ptr<FoldInSolver> make_fold_in_solver(const Model& model, const Factors& factors,
                                                  Side side) {
  return std::visit(SolverMaker{model, factors, side}, model.params);
}

}  // namespace likewise
