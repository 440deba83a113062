// SPDX-License-Identifier: Apache-2.0
#include "serving/fold_in.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "algorithms/algorithm.h"
#include "algorithms/rows_with_entries.h"
#include "likewise/error.h"

namespace likewise {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::kInvalidArgument, message);
}

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
  std::unique_ptr<FoldInSolver> solver =
      algorithm_of(model.params)->fold_in_solver(model, factors, side);
  const std::vector<Index> seen = rows_learned_from(model.history.view(), factors, other(side));
  std::vector<Index> all(static_cast<std::size_t>(factors.side(other(side)).rows()));
  std::iota(all.begin(), all.end(), 0);
  std::vector<Index> unseen;
  std::ranges::set_difference(all, seen, std::back_inserter(unseen));
  solver->leave_out(unseen);
  return solver;
}

}  // namespace likewise
