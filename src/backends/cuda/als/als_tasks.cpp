// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/als_tasks.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/system/parallel.h"

namespace likewise::cuda {
namespace {

/// A place between two tasks: before piece `piece` of row `row`.
struct Place {
  Index row = 0;
  Offset piece = 0;
};

class Rows {
 public:
  Rows(std::span<const Offset> offsets, const TaskLimits& limits)
      : offsets_(offsets), limits_(limits) {}

  [[nodiscard]] Index count() const { return static_cast<Index>(offsets_.size()) - 1; }
  [[nodiscard]] Offset begin(Index row) const { return offsets_[static_cast<std::size_t>(row)]; }
  [[nodiscard]] Offset length(Index row) const { return begin(row + 1) - begin(row); }
  [[nodiscard]] Offset pieces(Index row) const {
    return (length(row) + limits_.piece - 1) / limits_.piece;
  }
  /// The first interaction of a piece.
  [[nodiscard]] Offset entry(Place at) const {
    if (at.piece == 0) return begin(at.row);
    return begin(at.row) + length(at.row) * at.piece / pieces(at.row);
  }

  /// Where the portion that starts at `from` ends: behind all rows that fit, or in the middle of
  /// one that does not fit alone.
  [[nodiscard]] Place end_of_portion(Place from) const {
    const Offset first = entry(from);
    const Offset block = (Offset{from.row} / limits_.block_rows + 1) * limits_.block_rows;
    const auto fits = [&](Index end) {
      const auto entries = static_cast<double>(begin(end) - first);
      return begin(end) - first <= limits_.entries &&
             entries + kRowWork * (end - from.row) <= limits_.work;
    };
    Index low = from.row;
    auto high = static_cast<Index>(std::min<Offset>(block, count()));
    while (low < high) {  // fits(low), or no row does; rows beyond high do not
      const Index middle = low + (high - low + 1) / 2;
      if (fits(middle)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    if (low > from.row) return {low, 0};
    return inside_row(from);
  }

 private:
  [[nodiscard]] Place inside_row(Place from) const {
    const Offset first = entry(from);
    const double work = std::max<double>(limits_.piece, limits_.work);
    const auto most = static_cast<Offset>(std::min(static_cast<double>(limits_.entries), work));
    Place end{from.row, from.piece + 1};
    while (end.piece < pieces(from.row) && entry({end.row, end.piece + 1}) - first <= most) {
      ++end.piece;
    }
    return end.piece >= pieces(from.row) ? Place{from.row + 1, 0} : end;
  }

  std::span<const Offset> offsets_;
  const TaskLimits& limits_;
};

/// Lengths of tasks in a chunk of rows.
struct Census {
  std::vector<Offset> by_length;  ///< tasks of so many interactions; then, where they begin
  Offset pieces = 0;              ///< then, slots taken by chunks before
  Offset ends = 0;
};

/// One portion: counts its tasks, and then puts them where they belong by their lengths.
class PortionPlanner {
 public:
  PortionPlanner(const Rows& rows, const TaskLimits& limits, Place from, Place to)
      : rows_(rows),
        limits_(limits),
        from_(from),
        to_(to),
        end_row_(to.row + (to.piece > 0 ? 1 : 0)),
        chunks_(std::clamp<Offset>((Offset{end_row_} - from.row) / kChunkRows, 1, kMostChunks)),
        census_(static_cast<std::size_t>(chunks_)) {
    parallel_for(chunks_, 1, [&](Offset c) {
      Census& census = census_[static_cast<std::size_t>(c)];
      census.by_length.resize(static_cast<std::size_t>(limits_.piece) + 1);
      for_tasks(c, [&](const RowTask& task) {
        if (task.count > 0) ++census.by_length[static_cast<std::size_t>(task.count)];
        if (task.slot >= 0 && task.slots == 0) ++census.pieces;
        if (task.slots > 0 && task.count == 0) ++census.ends;
      });
    });
    describe();
  }

  [[nodiscard]] const RowPortion& portion() const { return portion_; }
  [[nodiscard]] Offset task_count() const {
    return Offset{portion_.long_tasks} + portion_.short_tasks + portion_.end_tasks +
           portion_.carry_tasks;
  }
  [[nodiscard]] Offset slots() const { return pieces_ == 0 ? 0 : pieces_ + kFirstSlot; }

  /// Writes the tasks behind `first_task` of `tasks`.
  void write(Array<RowTask>& tasks, Offset first_task) {
    portion_.first_task = first_task;
    RowTask* const to = tasks.data() + first_task;
    RowTask* const ends = to + portion_.long_tasks + portion_.short_tasks;
    parallel_for(chunks_, 1, [&](Offset c) {
      Census& census = census_[static_cast<std::size_t>(c)];
      for_tasks(c, [&](RowTask task) {
        if (task.slot >= 0 && task.slot != kCarrySlot) {
          task.slot += static_cast<int>(census.pieces);
        }
        if (task.count > 0) {
          to[census.by_length[static_cast<std::size_t>(task.count)]++] = task;
        } else if (task.count == 0) {
          ends[census.ends++] = task;
        } else {
          ends[portion_.end_tasks] = task;
        }
      });
    });
  }

 private:
  static constexpr Offset kChunkRows = 16384;
  static constexpr Offset kMostChunks = 128;
  static constexpr int kFirstSlot = kCarrySlot + 1;

  /// Calls visit for every task of a chunk's rows. Slots are counted from the chunk's first.
  template <class Visit>
  void for_tasks(Offset chunk, const Visit& visit) const {
    const Offset rows = Offset{end_row_} - from_.row;
    const auto first = static_cast<Index>(from_.row + rows * chunk / chunks_);
    const auto end = static_cast<Index>(from_.row + rows * (chunk + 1) / chunks_);
    int slot = kFirstSlot;
    for (Index row = first; row < end; ++row) {
      const Offset length = rows_.length(row);
      if (length == 0) continue;
      if (length <= limits_.piece) {
        visit(RowTask{row, static_cast<std::int32_t>(length), rows_.begin(row), -1, 0});
      } else {
        slot = visit_pieces(row, slot, visit);
      }
    }
  }

  template <class Visit>
  int visit_pieces(Index row, int slot, const Visit& visit) const {
    const bool goes_on = row == to_.row;  // in the next portion
    const bool carried = row == from_.row && from_.piece > 0;
    const Offset last = goes_on ? to_.piece : rows_.pieces(row);
    const int first_slot = slot;
    for (Offset piece = carried ? from_.piece : 0; piece < last; ++piece) {
      const Offset begin = rows_.entry({row, piece});
      const Offset end =
          piece + 1 == rows_.pieces(row) ? rows_.begin(row + 1) : rows_.entry({row, piece + 1});
      visit(RowTask{row, static_cast<std::int32_t>(end - begin), begin, slot++, 0});
    }
    // A carried row is the first of its portion, its pieces follow the carried sums.
    const int from = carried ? kCarrySlot : first_slot;
    visit(RowTask{row, goes_on ? kCarryOn : 0, rows_.begin(row), from, slot - from});
    return slot;
  }

  /// Turns the census into places.
  void describe() {
    Offset at = 0;
    portion_.short_counts.resize(static_cast<std::size_t>(limits_.short_rows) + 2);
    for (auto length = static_cast<std::size_t>(limits_.piece); length > 0; --length) {
      const bool is_short = length <= static_cast<std::size_t>(limits_.short_rows);
      for (Census& census : census_) at += std::exchange(census.by_length[length], at);
      if (!is_short) portion_.long_tasks = static_cast<int>(at);
      if (is_short) {
        portion_.short_counts[length] = static_cast<int>(at) - portion_.long_tasks;
      }
    }
    portion_.short_tasks = static_cast<int>(at) - portion_.long_tasks;
    portion_.short_counts[0] = portion_.short_tasks;
    Offset ends = 0;
    for (Census& census : census_) {
      pieces_ += std::exchange(census.pieces, pieces_);
      ends += std::exchange(census.ends, ends);
    }
    portion_.end_tasks = static_cast<int>(ends);
    portion_.carry_tasks = to_.piece > 0 ? 1 : 0;
    portion_.first_row = from_.row;
    portion_.end_row = end_row_;
    portion_.first_entry = rows_.entry(from_);
    portion_.end_entry = rows_.entry(to_);
  }

  const Rows& rows_;
  const TaskLimits& limits_;
  Place from_;
  Place to_;
  Index end_row_;
  Offset chunks_;
  std::vector<Census> census_;
  RowPortion portion_;
  Offset pieces_ = 0;
};

}  // namespace

RowTasks plan_tasks(std::span<const Offset> offsets, const TaskLimits& limits) {
  const Rows rows(offsets, limits);
  std::vector<PortionPlanner> planners;
  Offset count = 0;
  RowTasks plan;
  for (Place at; at.row < rows.count();) {
    const Place end = rows.end_of_portion(at);
    planners.emplace_back(rows, limits, at, end);
    count += planners.back().task_count();
    plan.slots = std::max(plan.slots, static_cast<int>(planners.back().slots()));
    at = end;
  }
  plan.tasks = Array<RowTask>::uninitialized(count);
  Offset first = 0;
  for (PortionPlanner& planner : planners) {
    planner.write(plan.tasks, first);
    first += planner.task_count();
    plan.portions.push_back(planner.portion());
  }
  return plan;
}

std::vector<RowPortion> cut_whole_rows(std::span<const Offset> offsets, TaskLimits limits) {
  limits.piece = std::numeric_limits<int>::max();  // no row has more than one
  const Rows rows(offsets, limits);
  std::vector<RowPortion> portions;
  for (Place at; at.row < rows.count();) {
    const Place end = rows.end_of_portion(at);
    RowPortion portion;
    portion.first_row = at.row;
    portion.end_row = end.row;
    portion.first_entry = rows.entry(at);
    portion.end_entry = rows.entry(end);
    portions.push_back(portion);
    at = end;
  }
  return portions;
}

}  // namespace likewise::cuda
