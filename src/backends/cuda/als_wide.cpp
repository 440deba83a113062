// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als_wide.h"

#include <algorithm>

namespace likewise::cuda {
namespace {

/// Interactions that a block sums in one go, as long as a row has no more pieces than kMostPieces:
/// few enough that tensor cores, which cut off what does not fit a float32, add up no large error.
constexpr Offset kPieceEntries = 8192;
constexpr Offset kMostPieces = 64;
constexpr Offset kMostSumBytes = Offset{1} << 30;  ///< but room for one row in any case

/// What a row's two ways cost, in seconds of a whole H200. Other cards have other numbers but like
/// ratios, and near the border both ways are good.
class Costs {
 public:
  Costs(Index fixed_rows, const StoredTable& fixed) {
    const double columns = fixed.padded;
    const bool sixteen = fixed.precision == Precision::kFp16 || fixed.precision == Precision::kBf16;
    const double row_bytes = columns * (sixteen ? 2.0 : 4.0);
    const double rate = row_bytes * fixed_rows < kCacheBytes ? kCacheRate : kMemoryRate;
    by_products_ = kPasses * std::max(row_bytes / rate, columns * kColumnSeconds);
    const double tensor_rate = sixteen                               ? 350e12
                               : fixed.precision == Precision::kTf32 ? 170e12
                                                                     : 75e12;
    by_matrix_ = columns * columns * 1.06 / tensor_rate;
    const auto matrix_bytes = static_cast<double>(slot_floats(fixed.padded)) * sizeof(float);
    matrix_ = matrix_bytes * (1.0 + kPasses) / kMemoryRate;
  }

  [[nodiscard]] bool matrix_is_better(Offset count) const {
    const auto k = static_cast<double>(count);
    return count > kMostByProducts || matrix_ + k * by_matrix_ < k * by_products_;
  }

 private:
  static constexpr double kPasses = 5.0;  ///< over a row, from a warm start
  static constexpr double kCacheBytes = 40e6;
  static constexpr double kCacheRate = 10e12;
  static constexpr double kMemoryRate = 4e12;
  static constexpr double kColumnSeconds = 1.4e-13;  ///< of a pass, for each interaction
  /// A block goes over these alone: longer rows must be cut.
  static constexpr Offset kMostByProducts = 32768;

  double by_products_;  ///< for each interaction
  double by_matrix_;
  double matrix_;  ///< for each row
};

[[nodiscard]] int pieces_of(Offset count) {
  return static_cast<int>(std::min(kMostPieces, (count + kPieceEntries - 1) / kPieceEntries));
}

/// Deals rows that are solved by their matrices to batches whose sums fit the space for them.
void plan_matrices(WidePlan& plan, const std::vector<RowTask>& rows, const StoredTable& fixed,
                   cudaStream_t stream) {
  const Offset slot_bytes = slot_floats(fixed.padded) * static_cast<Offset>(sizeof(float));
  const auto most = static_cast<int>(std::max(kMostPieces, kMostSumBytes / slot_bytes));
  std::vector<RowTask> pieces;
  std::vector<RowTask> solves;
  int slot = most;
  for (const RowTask& row : rows) {
    const int count = pieces_of(row.count);
    const int slots = fixed.exact ? std::max(count, 2) : count;
    if (slot + slots > most) {
      slot = 0;
      plan.batches.push_back(
          {static_cast<int>(pieces.size()), 0, static_cast<int>(solves.size()), 0, false});
    }
    WideBatch& batch = plan.batches.back();
    for (Offset piece = 0; piece < count; ++piece) {
      const Offset first = row.count * piece / count;
      const Offset last = row.count * (piece + 1) / count;
      pieces.push_back({row.row, static_cast<std::int32_t>(last - first), row.begin + first,
                        slot + static_cast<int>(piece), 0});
    }
    solves.push_back({row.row, 0, row.begin, slot, count});
    batch.pieces += count;
    batch.rows += 1;
    batch.has_pieces = batch.has_pieces || count > 1;
    slot += slots;
    plan.slots = std::max(plan.slots, slot);
  }
  const std::vector<TileJob> jobs = tile_jobs(fixed.padded);
  plan.job_count = static_cast<int>(jobs.size());
  plan.jobs = to_device(jobs, stream);
  plan.pieces = to_device(pieces, stream);
  plan.rows = to_device(solves, stream);
}

}  // namespace

WidePlan plan_wide_rows(std::vector<RowTask> rows, Index fixed_rows, const StoredTable& fixed,
                        cudaStream_t stream) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const RowTask& a, const RowTask& b) { return a.count > b.count; });
  const Costs costs(fixed_rows, fixed);
  const auto border = std::find_if(rows.begin(), rows.end(), [&](const RowTask& row) {
    return !fixed.exact && !costs.matrix_is_better(row.count);
  });
  WidePlan plan;
  plan_matrices(plan, {rows.begin(), border}, fixed, stream);
  plan.products = to_device(std::vector<RowTask>(border, rows.end()), stream);
  plan.product_count = static_cast<int>(rows.end() - border);
  return plan;
}

void solve_wide_rows(Precision precision, const RowProblem& problem, const WidePlan& plan,
                     cudaStream_t stream) {
  for (const WideBatch& batch : plan.batches) {
    sum_matrices(precision, problem, plan.pieces.data() + batch.first_piece, batch.pieces,
                 plan.jobs.data(), plan.job_count, stream);
    solve_by_matrices(problem, plan.rows.data() + batch.first_row, batch.rows, batch.has_pieces,
                      stream);
  }
  solve_by_products(precision, problem, plan.products.data(), plan.product_count, stream);
}

}  // namespace likewise::cuda
