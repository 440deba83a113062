// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/als_row_plan.h"

#include <algorithm>

#include "algorithms/als/weights.h"
#include "backends/cuda/als/tables/als_matrix.h"
#include "backends/cuda/host/als_tuning.h"
#include "core/system/parallel.h"

namespace likewise::cuda {
namespace {

constexpr Offset kPlannedRows = Offset{1} << 16;  ///< rows

/// value(row length) of every row, on the GPU.
template <class Value>
[[nodiscard]] DeviceArray<float> of_rows(std::span<const Offset> offsets, const Value& value,
                                         Staging& staging, cudaStream_t stream) {
  DeviceArray<float> values(static_cast<Offset>(offsets.size()) - 1);
  const auto fill = [&](float* to, Offset first, Offset count) {
    parallel_for(count, kPlannedRows / 16, [&](Offset i) {
      const auto r = static_cast<std::size_t>(first + i);
      to[i] = static_cast<float>(value(offsets[r + 1] - offsets[r]));
    });
  };
  staging.upload(values.data(), values.size(), 1, fill, stream);
  return values;
}

void plan_narrow(RowPlan& plan, std::span<const Offset> offsets, int padded,
                 const TaskLimits& limits, Staging& staging, cudaStream_t stream) {
  RowTasks made = plan_tasks(offsets, limits);
  plan.tasks = DeviceArray<RowTask>(made.tasks.size());
  const auto fill = [&](RowTask* to, Offset first, Offset count) {
    parallel_blocks(count, kPlannedRows / 16, [&](Offset begin, Offset end, Offset) {
      std::copy(made.tasks.begin() + first + begin, made.tasks.begin() + first + end, to + begin);
    });
  };
  staging.upload(plan.tasks.data(), plan.tasks.size(), 1, fill, stream);
  plan.portions = std::move(made.portions);
  plan.sums = made.slots * piece_floats(padded);
  plan.constants = made.slots;
}

void plan_wide(RowPlan& plan, const DeviceRows& matrix, std::span<const Offset> offsets,
               const TaskLimits& limits, const StoredTable& fixed, EntryFeed& feed,
               cudaStream_t stream) {
  plan.portions = cut_whole_rows(offsets, limits);
  for (const RowPortion& portion : plan.portions) {
    std::vector<RowTask> rows;
    for (Index row = portion.first_row; row < portion.end_row; ++row) {
      const Offset begin = offsets[static_cast<std::size_t>(row)];
      const Offset count = offsets[static_cast<std::size_t>(row) + 1] - begin;
      if (count > 0) rows.push_back({row, static_cast<std::int32_t>(count), begin, -1, 0});
    }
    const RowEntry* entries = feed.open(matrix, portion);
    plan.wide.push_back(plan_wide_rows(std::move(rows), entries, fixed, stream));
    feed.close();
    plan.sums = std::max(plan.sums, plan.wide.back().floats);
    plan.constants = std::max(plan.constants, plan.wide.back().doubles);
  }
}

}  // namespace

RowPlan plan_rows(const DeviceRows& matrix, std::span<const Offset> offsets, Offset interactions,
                  const AlsParams& params, const AlsTuning& tuning, const TaskLimits& limits,
                  EntryFeed& feed, Staging& staging, cudaStream_t stream) {
  RowPlan plan;
  const Index cols = matrix.cols;
  if (tuning.wide) {
    const AlsWork work = als_work(params);
    const StoredTable fixed{work.precision, cols, tuning.columns, work.exact, work.nonnegative};
    plan_wide(plan, matrix, offsets, limits, fixed, feed, stream);
  } else {
    plan_narrow(plan, offsets, tuning.columns, limits, staging, stream);
  }
  plan.regularization = of_rows(
      offsets, [&](Offset count) { return row_regularization(params, count, cols); }, staging,
      stream);
  if (params.feedback == Feedback::kExplicit) {
    const auto total = static_cast<double>(std::max<Offset>(1, interactions));
    plan.shares = of_rows(
        offsets, [&](Offset count) { return static_cast<double>(count) / total; }, staging, stream);
  }
  return plan;
}

void raise_largest(const RowPlan& plan, std::size_t portion, const RowEntry* entries,
                   float* largest, cudaStream_t stream) {
  if (plan.wide.empty()) {
    const RowPortion& here = plan.portions[portion];
    return raise_largest(plan.tasks.data() + here.first_task, here.long_tasks + here.short_tasks,
                         entries, largest, stream);
  }
  const WidePlan& wide = plan.wide[portion];
  raise_largest(wide.matrix_free.data(), wide.matrix_free_count, entries, largest, stream);
  raise_largest(wide.lockstep.rows.data(), wide.lockstep.count, entries, largest, stream);
  raise_largest(wide.pieces.data(), static_cast<int>(wide.pieces.size()), entries, largest, stream);
}

void solve_portion(Precision precision, const RowProblem& problem, RowPlan& plan,
                   std::size_t portion, const AlsTuning& tuning, cudaStream_t stream) {
  if (!plan.wide.empty()) {
    return solve_wide_rows(precision, problem, plan.wide[portion], stream);
  }
  const RowPortion& here = plan.portions[portion];
  const RowTask* tasks = plan.tasks.data() + here.first_task;
  const auto solve_next = [&](int count) {
    solve_rows(precision, problem, tasks, count, stream);
    tasks += count;
  };
  solve_next(here.long_tasks);
  const int held = tuning.held_rows == 0 ? 0
                                         : solve_held_rows(problem, tasks, here.short_counts,
                                                           tuning.short_rows, stream);
  solve_short_rows(problem, tasks, here.short_counts, held, tuning.one_warp, stream);
  tasks += here.short_tasks;
  solve_next(here.end_tasks);
  solve_next(here.carry_tasks);
}

}  // namespace likewise::cuda
