// SPDX-License-Identifier: Apache-2.0
/// The work of an epoch of SGD on a GPU, or on one of several: tasks, each for one group of
/// threads, and launches of tasks that run at the same time.
#pragma once

#include <vector>

#include "algorithms/sgd/grid.h"
#include "likewise/array.h"
#include "likewise/memory.h"
#include "likewise/sgd.h"

namespace likewise {

/// Entries [begin, end), which a group takes one after the other.
struct SgdTask {
  Offset begin = 0;
  Offset end = 0;
};

/// Tasks [first_task, end_task), the longest first; their entries are [first_entry, end_entry) and
/// lie together, from `place` on.
struct SgdLaunch {
  Index first_task = 0;
  Index end_task = 0;
  Offset first_entry = 0;
  Offset end_entry = 0;
  Offset place = 0;
};

struct GpuSgdWork {
  Array<SgdEntry> entries;
  std::vector<SgdTask> tasks;
  std::vector<SgdLaunch> launches;
};

/// Stripes of `blocked` on a GPU: a task each at a time. A pure function of the shape, so that all
/// GPUs give the same answer.
[[nodiscard]] Index gpu_sgd_stripes(const SgdShape& shape);

/// User stripes, or lines, [first, end).
struct SgdSpan {
  Index first = 0;
  Index end = 0;
};

/// The blocks of a grid, turn by turn: tasks of a launch share no row. A launch has at most
/// `portion` entries, or one task. Of those with `users`, entries have the numbers that they have
/// among all blocks: how a step rounds goes by them.
[[nodiscard]] GpuSgdWork work_by_block(const SgdGrid& grid, const SgdSpan& users, Offset portion);

/// Turns each line round by a number of entries of its own: groups that race would else come to the
/// same columns at the same time.
void turn_lines(SgdRowEntries& rows, std::uint64_t seed);

/// The lines of one side: tasks of a launch share no line.
[[nodiscard]] GpuSgdWork work_by_line(SgdRowEntries rows, Offset portion);

/// Those of the rows `own`, further pieces included.
[[nodiscard]] GpuSgdWork work_by_line(const SgdRowEntries& rows, const SgdSpan& own,
                                      Offset portion);

/// What a training takes of a GPU.
struct GpuSgdPlan {
  Offset portion = 0;  ///< entries of a launch at most; all of them where they stay on the GPU
  bool streamed = false;
  MemoryPlan memory;
};

/// What a GPU holds. Of several each has all rows of both sides, except for the users of `blocked`.
struct GpuSgdShare {
  Index users = 0;
  Index items = 0;
  Offset ratings = 0;  ///< `alternating`: by user and by item
  Offset tasks = 0;    ///< at most
  Offset pieces = 0;   ///< further ones of long rows of both sides, at most
};

/// An even part.
[[nodiscard]] GpuSgdShare even_sgd_share(const SgdShape& shape, const SgdParams& params, int gpus);

/// With factors of numbers of `number_bytes`, in `available` bytes. Throws Error(kOutOfMemory) with
/// the figures where it does not fit.
[[nodiscard]] GpuSgdPlan plan_gpu_sgd(const GpuSgdShare& share, const SgdParams& params,
                                      int number_bytes, Offset available);

/// Columns of a row of factors on the GPU.
[[nodiscard]] constexpr int gpu_sgd_columns(int factors) { return (factors + 7) / 8 * 8; }

}  // namespace likewise
