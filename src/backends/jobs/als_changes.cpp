// SPDX-License-Identifier: Apache-2.0
#include "backends/jobs/als_changes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "backends/jobs/als_solver.h"

namespace likewise {
namespace {

/// Sums of a row's numbers, in lanes that do not wait for each other.
class LaneSum {
 public:
  void add(std::size_t at, double number) { lanes_[at % kLanes] += number; }
  [[nodiscard]] double sum() const { return std::accumulate(lanes_, lanes_ + kLanes, 0.0); }

 private:
  static constexpr std::size_t kLanes = 8;
  double lanes_[kLanes] = {};
};

}  // namespace

bool moves_starts(const AlsParams& params, const AlsShape& shape) {
  return params.feedback == Feedback::kImplicit && params.solver == AlsSolverKind::kAuto &&
         !solves_exactly(params, shape);
}

Factors with_changes(Factors start, bool moved) {
  for (const Side side : {Side::kUsers, Side::kItems}) {
    RowChanges& changes = start.changes(side);
    const Matrix& rows = start.side(side);
    const Offset numbers = moved ? Offset{rows.rows()} * rows.cols() : 0;
    if (changes.numbers.size() != numbers) changes = {Array<std::uint16_t>(numbers), 0.0F};
  }
  return start;
}

float ChangeSums::ratio() const {
  constexpr double kSteps = 256.0;
  if (!(before > 0.0)) return 0.0F;
  return static_cast<float>(std::round(std::min(std::sqrt(now / before), 1.0) * kSteps) / kSteps);
}

ChangeSums note_changes(std::span<const float> before, const float* now, std::uint16_t* changes) {
  LaneSum squares;
  LaneSum last_squares;
  for (std::size_t j = 0; j < before.size(); ++j) {
    const double last = float_of_bfloat16(changes[j]);
    changes[j] = bfloat16_of(now[j] - before[j]);
    const double change = float_of_bfloat16(changes[j]);
    squares.add(j, change * change);
    last_squares.add(j, last * last);
  }
  return {squares.sum(), last_squares.sum()};
}

}  // namespace likewise
