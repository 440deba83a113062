// SPDX-License-Identifier: Apache-2.0
/// How rows are assigned to launches. Needs no GPU.
#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cuda/als/als_tasks.h"

namespace likewise::cuda {
namespace {

[[nodiscard]] std::vector<Offset> offsets_of(const std::vector<Offset>& lengths) {
  std::vector<Offset> offsets{0};
  for (const Offset length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

/// Rows of all kinds: none, short, long, and some of many pieces.
[[nodiscard]] std::vector<Offset> mixed_lengths(int rows, int piece, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Offset> lengths;
  for (int r = 0; r < rows; ++r) {
    const unsigned kind = random() % 16;
    lengths.push_back(kind == 0   ? 0
                      : kind < 10 ? 1 + random() % 60
                      : kind < 15 ? 1 + random() % static_cast<unsigned>(piece)
                                  : 1 + random() % static_cast<unsigned>(40 * piece));
  }
  return lengths;
}

[[nodiscard]] std::vector<RowTask> slice(const RowTasks& plan, Offset first, int count) {
  return {plan.tasks.begin() + first, plan.tasks.begin() + first + count};
}

/// A row's pieces, as (begin, count), in the order in which their sums are added.
using Pieces = std::vector<std::pair<Offset, Offset>>;

/// Plays a plan as the kernels would: what each row is solved from.
class Replay {
 public:
  Replay(const std::vector<Offset>& offsets, const TaskLimits& limits)
      : offsets_(offsets), limits_(limits), plan_(plan_tasks(offsets, limits)) {
    for (const RowPortion& portion : plan_.portions) play(portion);
  }

  std::map<Index, Pieces> rows;
  [[nodiscard]] const RowTasks& plan() const { return plan_; }

 private:
  void play(const RowPortion& portion) {
    EXPECT_EQ(portion.first_entry, last_entry_);
    last_entry_ = portion.end_entry;
    EXPECT_EQ(portion.first_row / limits_.block_rows, (portion.end_row - 1) / limits_.block_rows);
    Offset at = portion.first_task;
    const auto next = [&](int count) {
      const std::vector<RowTask> tasks = slice(plan_, at, count);
      at += count;
      return tasks;
    };
    std::vector<Pieces> slots(static_cast<std::size_t>(plan_.slots));
    if (!slots.empty()) slots[kCarrySlot] = carried_;
    const std::vector<RowTask> longs = next(portion.long_tasks);
    const std::vector<RowTask> shorts = next(portion.short_tasks);
    for (const RowTask& task : longs) {
      EXPECT_GT(task.count, limits_.short_rows);
      sum(portion, task, slots);
    }
    for (const RowTask& task : shorts) {
      EXPECT_LE(task.count, limits_.short_rows);
      EXPECT_EQ(task.slot, -1);
      sum(portion, task, slots);
    }
    expect_falling(longs);
    expect_falling(shorts);
    for (int k = 0; k <= limits_.short_rows + 1; ++k) {
      EXPECT_EQ(portion.short_counts[static_cast<std::size_t>(k)],
                std::ranges::count_if(shorts, [&](const RowTask& t) { return t.count >= k; }));
    }
    for (const RowTask& end : next(portion.end_tasks)) {
      EXPECT_EQ(end.count, 0);
      EXPECT_TRUE(rows.emplace(end.row, gather(end, slots)).second);
    }
    carried_.clear();
    for (const RowTask& carry : next(portion.carry_tasks)) {
      EXPECT_EQ(carry.count, kCarryOn);
      carried_ = gather(carry, slots);
    }
  }

  void sum(const RowPortion& portion, const RowTask& task, std::vector<Pieces>& slots) {
    EXPECT_GE(task.begin, portion.first_entry);
    EXPECT_LE(task.begin + task.count, portion.end_entry);
    EXPECT_LE(task.count, limits_.piece);
    const Pieces one{{task.begin, task.count}};
    if (task.slot < 0) {
      EXPECT_TRUE(rows.emplace(task.row, one).second);
      return;
    }
    ASSERT_GT(task.slot, kCarrySlot);
    ASSERT_LT(task.slot, plan_.slots);
    EXPECT_TRUE(slots[static_cast<std::size_t>(task.slot)].empty());
    slots[static_cast<std::size_t>(task.slot)] = one;
  }

  [[nodiscard]] static Pieces gather(const RowTask& end, const std::vector<Pieces>& slots) {
    Pieces all;
    for (int s = end.slot; s < end.slot + end.slots; ++s) {
      const Pieces& some = slots[static_cast<std::size_t>(s)];
      EXPECT_FALSE(some.empty());
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  static void expect_falling(const std::vector<RowTask>& tasks) {
    EXPECT_TRUE(std::ranges::is_sorted(tasks, std::greater<>{}, &RowTask::count));
  }

  const std::vector<Offset>& offsets_;
  const TaskLimits& limits_;
  RowTasks plan_;
  Pieces carried_;
  Offset last_entry_ = 0;
};

/// Every row with interactions is solved once, from all of them in order, and from the same pieces
/// as without any limit.
void expect_same_rows(const std::vector<Offset>& lengths, const TaskLimits& limits) {
  const std::vector<Offset> offsets = offsets_of(lengths);
  const TaskLimits none{limits.short_rows, limits.piece, 1 << 30, Offset{1} << 60, 1e30};
  const Replay whole(offsets, none);
  const Replay cut(offsets, limits);
  EXPECT_EQ(whole.plan().portions.size(), 1U);
  EXPECT_EQ(cut.rows, whole.rows);
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    const auto found = cut.rows.find(static_cast<Index>(r));
    ASSERT_EQ(found != cut.rows.end(), lengths[r] > 0) << "row " << r;
    if (lengths[r] == 0) continue;
    Offset at = offsets[r];
    for (const auto& [begin, count] : found->second) {
      EXPECT_EQ(begin, at);
      at += count;
    }
    EXPECT_EQ(at, offsets[r + 1]);
  }
  for (const RowPortion& portion : cut.plan().portions) {
    EXPECT_LE(portion.end_entry - portion.first_entry, limits.entries);
  }
}

TEST(AlsTasks, PortionsChangeNoRow) {
  for (const int piece : {256, 1024}) {
    for (const int short_rows : {0, 64, 192}) {
      const std::vector<Offset> lengths = mixed_lengths(700, piece, 5);
      for (const Offset entries : {Offset{2} * piece, Offset{7} * piece, Offset{100} * piece}) {
        for (const Index block : {64, 500, 4096}) {
          for (const double work : {1e3, 1e5, 1e30}) {
            SCOPED_TRACE(testing::Message()
                         << "piece " << piece << ", short " << short_rows << ", entries " << entries
                         << ", block " << block << ", work " << work);
            expect_same_rows(lengths, {short_rows, piece, block, entries, work});
          }
        }
      }
    }
  }
}

TEST(AlsTasks, ManyRowsAreSortedInParallel) {
  expect_same_rows(mixed_lengths(100000, 256, 7), {64, 256, 65536, 1 << 20, 1e30});
}

TEST(AlsTasks, AwkwardMatrices) {
  const TaskLimits limits{64, 256, 16, 512, 1e5};
  EXPECT_TRUE(plan_tasks(offsets_of({}), limits).portions.empty());
  expect_same_rows({0}, {64, 256, 16, 512, 1e30});
  expect_same_rows({1}, limits);
  expect_same_rows({256}, limits);
  expect_same_rows({257}, limits);
  expect_same_rows({512, 513, 0, 0, 100000}, limits);
  expect_same_rows(std::vector<Offset>(40, 0), limits);
}

/// As many slots as the memory plan allows for.
TEST(AlsTasks, SlotsAreBoundedByThePortion) {
  for (const Offset entries : {Offset{512}, Offset{5000}, Offset{1} << 20}) {
    const std::vector<Offset> offsets = offsets_of(mixed_lengths(2000, 256, 9));
    const RowTasks plan = plan_tasks(offsets, {64, 256, 4096, entries, 1e30});
    EXPECT_LE(plan.slots, 2 * std::min(entries, offsets.back()) / 256 + 2);
  }
}

/// Positions beyond 2^31, in rows and in a row.
TEST(AlsTasks, MoreThanTwoThousandMillionInteractions) {
  const Offset huge = Offset{3} << 30;
  const std::vector<Offset> offsets = offsets_of({5, huge, 7});
  const RowTasks plan = plan_tasks(offsets, {64, 4096, 4096, Offset{1} << 26, 1e30});
  ASSERT_EQ(plan.portions.size(), 2U + 48U);
  Offset sum = 0;
  for (const RowTask& task : plan.tasks) {
    EXPECT_GE(task.begin, 0);
    if (task.count > 0) sum += task.count;
  }
  EXPECT_EQ(sum, huge + 12);
  EXPECT_EQ(plan.portions.back().end_entry, huge + 12);
}

}  // namespace
}  // namespace likewise::cuda
