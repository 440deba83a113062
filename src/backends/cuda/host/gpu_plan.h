// SPDX-License-Identifier: Apache-2.0
/// What an ALS training takes of a GPU's memory, found from counts alone before anything is
/// allocated, and what stays in the machine's memory where not everything fits.
#pragma once

#include "likewise/als.h"
#include "likewise/memory.h"
#include "likewise/types.h"

namespace likewise {

/// All that the plan depends on.
struct GpuAlsNeeds {
  AlsShape shape;
  int columns = 0;       ///< of the tables of factors, padding included
  int stored_bytes = 4;  ///< of a number of the side held fixed
  bool has_biases = false;
  int piece = 4096;         ///< longer rows are summed in pieces of at most so many interactions
  Offset piece_bytes = 0;   ///< sums of one piece
  Offset task_bytes = 0;    ///< what the GPU keeps for a row, or a piece of one
  Offset longest_row = 0;   ///< interactions that a launch must hold at once; 0: pieces will do
  Offset slots = 0;         ///< for sums, at most, where rows are cut differently; else 0
  Offset change_bytes = 0;  ///< of a row, where starts move (jobs/als_changes.h)
  Offset workspace = 0;     ///< of the GPU's own matrices, whatever the counts are
  Index fixed_rows = 0;  ///< of several GPUs, `shape` is one's part: rows of the longer whole side
};

/// Where the data is, from the fastest to the one that takes the least of the GPU.
enum class Placement {
  kResident,        ///< everything on the GPU
  kStreamedMatrix,  ///< the interactions pass through it
  kStreamedTables,  ///< and so do the factors
};

struct GpuAlsPlan {
  Placement placement = Placement::kResident;
  Index block_rows = 0;          ///< rows that are solved, and streamed, at a time
  Offset portion_entries = 0;    ///< most interactions of a launch
  Offset transpose_entries = 0;  ///< interactions sorted at a time; 0: the machine transposes
  MemoryPlan memory;
};

/// The first placement that fits into `available` bytes, with its buffers as large as is useful and
/// possible. Throws Error(kOutOfMemory) with the figures where none fits.
[[nodiscard]] GpuAlsPlan plan_gpu_als(const GpuAlsNeeds& needs, Offset available);

/// Rows of a block are a multiple of this many, except for the last one.
inline constexpr Index kLeastBlockRows = 4096;

}  // namespace likewise
