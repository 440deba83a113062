// SPDX-License-Identifier: Apache-2.0
/// What the rows of one side need in every half-step: made once, kept on the GPU.
#pragma once

#include <span>
#include <vector>

#include "backends/cuda/als/als_entries.h"
#include "backends/cuda/als/als_tasks.h"
#include "backends/cuda/als/wide/als_wide.h"
#include "backends/cuda/device/memory.h"
#include "backends/cuda/device/staging.h"
#include "likewise/als.h"
#include "likewise/autotune.h"

namespace likewise::cuda {

struct RowPlan {
  DeviceArray<RowTask> tasks;
  std::vector<RowPortion> portions;
  std::vector<WidePlan> wide;         ///< where tables are wide, all tasks of each portion
  Offset sums = 0;                    ///< floats that a problem's piece_sums must have
  Offset constants = 0;               ///< doubles of its piece_constants
  DeviceArray<float> regularization;  ///< lambda of each row
  DeviceArray<float> shares;          ///< explicit: the part of all ratings that a row has
  DeviceArray<float> largest;         ///< implicit: power of two not below any w of the row
};

/// All but `largest`. `interactions`: of all rows, those of other ranks included.
[[nodiscard]] RowPlan plan_rows(const DeviceRows& matrix, std::span<const Offset> offsets,
                                Offset interactions, const AlsParams& params,
                                const AlsTuning& tuning, const TaskLimits& limits, EntryFeed& feed,
                                Staging& staging, cudaStream_t stream);

/// largest[row] = max(largest[row], |values|) over the portion's interactions.
void raise_largest(const RowPlan& plan, std::size_t portion, const RowEntry* entries,
                   float* largest, cudaStream_t stream);

/// Solves the rows of a portion.
void solve_portion(Precision precision, const RowProblem& problem, RowPlan& plan,
                   std::size_t portion, const AlsTuning& tuning, cudaStream_t stream);

}  // namespace likewise::cuda
