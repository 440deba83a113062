// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/gpu_knn_cost.h"

#include <cmath>
#include <limits>

namespace likewise {
namespace {

// Clocks of one multiprocessor, from two searches on an H200 (performance.md).
constexpr double kClocksOfVisit = 15.0;  // a warp finds the entries of one column in its tile
constexpr double kClocksOfStep = 9.0;    // and adds 32 of them,
constexpr double kClocksOfSum = 6.0;     // to each sum

// By what the units can do at about half their rate.
constexpr double kProductsOfClock = 1024.0;  // float16, two operations each
constexpr double kBytesOfClock = 16.0;       // from the L2 cache: rows that are compared again
constexpr double kClocksOfColumn = 12.0;     // one addition after the other

constexpr double kStart = 50e-6;         // launches, and waiting for the last of them
constexpr double kListsBandwidth = 7e9;  // to the host, and packed there: measured

/// Rows that are computed again beside the k in a list.
constexpr double kSpareCandidates = 16.0;
/// Up to so many rows all products are at hand at once: half of them, and of those that are
/// computed again, come by symmetry.
constexpr Index kMirrored = 8192;

}  // namespace

bool gemm_can(const PairNumbers& formula, Index k) {
  return formula.form == PairForm::kCosine && !formula.counted && formula.amplification == 1.0 &&
         formula.shrinkage == 0.0 && formula.estimates && k <= kMostCandidates / 2;
}

int sums_of(SumsNeeded sums) {
  return sums == SumsNeeded::kProducts ? 1 : sums == SumsNeeded::kSquares ? 4 : 6;
}

KnnCost gpu_knn_cost(const KnnWork& work, const GpuInfo& gpu) {
  const double clocks = gpu.specs.multiprocessors * gpu.specs.clock;  // a second, of all
  const double rows = work.rows;
  const double cols = work.cols;
  const double visits = static_cast<double>(work.entries) * work.tiles;
  KnnCost cost;
  cost.common = work.common;
  const double start = kStart + rows * work.k * 8.0 / kListsBandwidth;
  cost.sparse = start + (visits * kClocksOfVisit +
                         work.common / 32 * (kClocksOfStep + kClocksOfSum * work.sums)) /
                            clocks;
  const double table = rows * cols * 6.0;  // float16 and float32
  if (!work.dense_can || table > 0.5 * static_cast<double>(gpu.memory)) {
    cost.dense = std::numeric_limits<double>::infinity();
    return cost;
  }
  const double halved = work.rows <= kMirrored ? 0.5 : 1.0;
  const double products = halved * rows * rows * cols;
  const double again = halved * rows * (work.k + kSpareCandidates) * cols * 4.0;
  const double moved = 2.0 * table + 3.0 * rows * rows * 4.0;
  cost.dense = start + (products / kProductsOfClock + again / kBytesOfClock) / clocks +
               cols * kClocksOfColumn / gpu.specs.clock + moved / gpu.specs.bandwidth;
  return cost;
}

}  // namespace likewise
