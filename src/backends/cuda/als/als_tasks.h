// SPDX-License-Identifier: Apache-2.0
/// How the rows of a half-step are assigned to launches: in portions of bounded size, and in each
/// of them the longest task first. Host code, from the rows' lengths alone.
#pragma once

#include <span>
#include <vector>

#include "backends/cuda/als/rows/als_rows.h"
#include "likewise/array.h"

namespace likewise::cuda {

struct TaskLimits {
  int short_rows = 0;    ///< rows of at most this many interactions are solved without a matrix
  int piece = 4096;      ///< rows of more are cut, each piece longer than `short_rows`
  Index block_rows = 0;  ///< a portion lies in one block of so many rows
  Offset entries = 0;    ///< most interactions of a portion; at least 2 pieces
  double work = 0.0;     ///< most of a portion: interactions, and kRowWork for each row
};

/// A short row costs about as much as so many interactions of long ones.
inline constexpr double kRowWork = 300.0;

/// Rows, or pieces of one row, that are solved in one launch.
struct RowPortion {
  Index first_row = 0;
  Index end_row = 0;  ///< behind the last row that it touches
  Offset first_entry = 0;
  Offset end_entry = 0;
  Offset first_task = 0;          ///< its tasks follow each other:
  int long_tasks = 0;             ///< whole rows and pieces, the longest first,
  int short_tasks = 0;            ///< whole short rows, the longest first,
  int end_tasks = 0;              ///< what is to do behind the pieces,
  int carry_tasks = 0;            ///< and the sums so far of a row that goes on
  std::vector<int> short_counts;  ///< [k]: short rows of at least k interactions
};

struct RowTasks {
  Array<RowTask> tasks;
  std::vector<RowPortion> portions;
  int slots = 0;  ///< for sums of pieces, at most, in one portion
};

/// Every interaction belongs to one task. A row's pieces are the same whatever the limits of a
/// portion are, and so is the order in which they are added.
[[nodiscard]] RowTasks plan_tasks(std::span<const Offset> offsets, const TaskLimits& limits);

/// Portions of whole rows, without tasks: for wide tables, which have others (als_wide.h). A row
/// that does not fit has a portion of its own. `piece` and `short_rows` do not matter.
[[nodiscard]] std::vector<RowPortion> cut_whole_rows(std::span<const Offset> offsets,
                                                     TaskLimits limits);

}  // namespace likewise::cuda
