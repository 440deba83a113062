// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/als_variants.h"

#include <algorithm>
#include <array>

#include "backends/cuda/als/rows/als_rows.h"

namespace likewise::cuda {
namespace {

/// Kernels from the narrowest that will do.
constexpr int kMostKernels = 3;

/// Widths beyond this may also be solved as wide tables.
constexpr int kLeastWide = 128;

/// No more: tensor cores, which cut off what does not fit a float32 instead of rounding it, then
/// add no more than this many numbers in a row.
constexpr std::array kPieces{4096, 2048, 1024};

/// Short rows of up to this many interactions may have one warp.
constexpr std::array kOneWarp{48, 96, 192};

/// Rows that are held in registers have more interactions, and up to at least so many.
constexpr int kBelowHeld = 32;
constexpr int kLeastHeld = 64;

/// Columns for which there is a kernel that holds a row's matrix, ascending.
[[nodiscard]] std::vector<int> column_variants(const AlsWork& work, int shared_memory) {
  std::vector<int> found;
  int next = work.width;
  while (static_cast<int>(found.size()) < kMostKernels && next <= kMaxRowsPadded) {
    next = rows_padded(work.precision, work.exact, next);
    if (row_bytes(work.precision, work.exact, next) > shared_memory) break;
    found.push_back(next++);
  }
  return found;
}

/// Tunings of which only the rows without a matrix are set.
[[nodiscard]] std::vector<AlsTuning> short_row_variants(const AlsWork& work, int columns,
                                                        int shared_memory, bool held_rows) {
  std::vector<AlsTuning> found{{columns, 0, 0}};
  if (work.exact) return found;
  if (held_rows) {
    for (const int most : held_row_sizes(work.precision, columns)) {
      if (most < kLeastHeld) continue;
      found.push_back({.columns = columns,
                       .short_rows = kBelowHeld,
                       .one_warp = kBelowHeld,
                       .held_rows = most});
    }
  }
  for (const int most : kShortRowSizes) {
    const int bytes = short_row_bytes(work.precision, columns, most);
    if (bytes == 0 || bytes > shared_memory) break;
    for (const int one_warp : kOneWarp) {
      const AlsTuning next{columns, most, std::min(most, one_warp)};
      if (next != found.back()) found.push_back(next);
    }
  }
  return found;
}

}  // namespace

std::vector<AlsTuning> als_variants(const AlsWork& work, int shared_memory, bool held_rows) {
  AlsTuning wide{.columns = (work.width + 15) / 16 * 16, .wide = true};
  if (work.nonnegative) {
    const std::vector<int> held = column_variants(work, shared_memory);
    if (!held.empty()) wide.columns = held.front();
    return {wide};
  }
  std::vector<AlsTuning> all;
  for (const int columns : column_variants(work, shared_memory)) {
    for (AlsTuning one : short_row_variants(work, columns, shared_memory, held_rows)) {
      for (const int piece : kPieces) {
        one.piece = piece;
        all.push_back(one);
      }
    }
  }
  if (all.empty() || work.width > kLeastWide) all.push_back(wide);
  return all;
}

}  // namespace likewise::cuda
