// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/wide/als_wide.h"

#include <algorithm>

#include "backends/cuda/device/attributes.h"

namespace likewise::cuda {
namespace {

enum class WideStrategy { kMatrixFree, kLockstep, kMatrices };

/// Interactions that a block sums in one go, as long as a row has no more pieces than kMostPieces:
/// few enough that tensor cores, which cut off what does not fit a float32, add up no large error.
constexpr Offset kPieceEntries = 8192;
constexpr Offset kMostPieces = 64;
constexpr Offset kMostSumBytes = Offset{1} << 30;  ///< but room for a row in any case

/// What each strategy costs a row, in seconds of a whole H200. Other GPUs have other numbers but
/// like ratios, and near the borders two strategies are good.
class Costs {
 public:
  explicit Costs(const StoredTable& fixed) {
    const double columns = fixed.padded;
    const auto row_bytes = static_cast<double>(fixed.row_bytes());
    const double arithmetic = columns * kColumnSeconds;
    fits_ = row_bytes * fixed.rows <= kCacheBytes;
    lockstep_ = kPasses * std::max(row_bytes / kCacheRate, arithmetic);
    matrix_free_ = fits_ ? lockstep_ : kPasses * std::max(row_bytes / kMemoryRate, arithmetic);
    lockstep_row_ = kPasses * table_chunks(fixed.row_bytes(), fixed.rows) *
                    (8.0 * columns / kMemoryRate + kBlockSeconds);
    const double tensor_rate = fixed.sixteen_bits()                  ? 280e12
                               : fixed.precision == Precision::kTf32 ? 140e12
                                                                     : 60e12;
    matrix_ = columns * columns * 1.06 / tensor_rate;
    const auto matrix_bytes = static_cast<double>(slot_floats(fixed.padded)) * sizeof(float);
    matrix_row_ = matrix_bytes * (1.0 + kPasses) / kMemoryRate;
    least_dense_ = static_cast<Offset>(fixed.rows * columns * kCellSeconds * kPasses / lockstep_);
  }

  /// Interactions of a row from which on a pass over all factor rows on tensor cores is cheaper
  /// than one over its own.
  [[nodiscard]] Offset least_dense() const { return least_dense_; }

  [[nodiscard]] WideStrategy best(Offset count) const {
    const auto k = static_cast<double>(count);
    const double matrix_free = k * matrix_free_;
    const double lockstep = lockstep_row_ + k * lockstep_;
    const double matrix = matrix_row_ + k * matrix_;
    if (!fits_ && lockstep < std::min(matrix_free, matrix)) return WideStrategy::kLockstep;
    return count > kMostMatrixFree || matrix < matrix_free ? WideStrategy::kMatrices
                                                           : WideStrategy::kMatrixFree;
  }

 private:
  static constexpr double kPasses = 3.2;  ///< over a row, from a warm start
  static constexpr double kCacheBytes = 40e6;
  static constexpr double kCacheRate = 9e12;
  static constexpr double kMemoryRate = 4.5e12;
  static constexpr double kBlockSeconds = 4e-9;
  static constexpr double kColumnSeconds = 2.3e-13;  ///< of a pass, for each interaction
  /// Of one with all factor rows on tensor cores, for each of these. Less is measured, but last
  /// steps gather a part.
  static constexpr double kCellSeconds = 0.9e-14;
  /// A block goes over these alone: longer rows must be cut.
  static constexpr Offset kMostMatrixFree = 32768;

  bool fits_;  ///< the table, into the cache
  // Of a row, for each interaction:
  double matrix_free_;
  double lockstep_;
  double matrix_;
  // And once:
  double lockstep_row_;
  double matrix_row_;
  Offset least_dense_;
};

[[nodiscard]] int pieces_of(Offset count) {
  return static_cast<int>(std::min(kMostPieces, (count + kPieceEntries - 1) / kPieceEntries));
}

/// Deals rows that are solved by their matrices to batches whose sums fit the space for them.
void plan_matrices(WidePlan& plan, const std::vector<RowTask>& rows, const StoredTable& fixed,
                   cudaStream_t stream) {
  const int most = most_wide_slots(fixed.padded);
  std::vector<RowTask> pieces;
  std::vector<RowTask> solves;
  int slot = most;
  for (const RowTask& row : rows) {
    const int count = pieces_of(row.count);
    const int slots = fixed.exact && !fixed.nonnegative ? std::max(count, 2) : count;
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

/// Whether a row's matrix does, while it is summed.
[[nodiscard]] bool fits_a_block(Precision precision, int padded) {
  const int bytes = row_bytes(precision, true, padded);
  return bytes > 0 && bytes <= largest_shared_memory();
}

}  // namespace

int most_wide_slots(int padded) {
  const Offset slot_bytes = slot_floats(padded) * static_cast<Offset>(sizeof(float));
  return static_cast<int>(std::max(kMostPieces, kMostSumBytes / slot_bytes));
}

WidePlan plan_wide_rows(std::vector<RowTask> rows, const RowEntry* entries,
                        const StoredTable& fixed, cudaStream_t stream) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const RowTask& a, const RowTask& b) { return a.count > b.count; });
  const Costs costs(fixed);
  std::vector<RowTask> matrix_free;
  std::vector<RowTask> lockstep;
  std::vector<RowTask> by_matrices;
  Offset interactions = 0;
  for (const RowTask& row : rows) {
    interactions += row.count;
    const WideStrategy strategy = fixed.exact ? WideStrategy::kMatrices : costs.best(row.count);
    (strategy == WideStrategy::kMatrixFree ? matrix_free
     : strategy == WideStrategy::kLockstep ? lockstep
                                           : by_matrices)
        .push_back(row);
  }
  WidePlan plan;
  plan_matrices(plan, by_matrices, fixed, stream);
  plan.matrix_free = to_device(matrix_free, stream);
  plan.matrix_free_count = static_cast<int>(matrix_free.size());
  const int chunks = table_chunks(fixed.row_bytes(), fixed.rows);
  const Offset row_floats = lockstep_floats(fixed.padded, chunks);
  const Offset batch =
      std::max(Offset{1}, kMostSumBytes / static_cast<Offset>(row_floats * sizeof(float)));
  const DenseProducts dense = has_dense_rows(fixed.precision, fixed.padded)
                                  ? plan_dense_rows(lockstep, fixed.rows, costs.least_dense(),
                                                    fixed.padded, most_dense_bytes(interactions))
                                  : DenseProducts{};
  plan.lockstep = plan_lockstep(lockstep, entries, fixed.rows, fixed.row_bytes(),
                                static_cast<int>(std::min(batch, Offset{1} << 30)), dense, stream);
  plan.floats =
      std::max(plan.slots * slot_floats(fixed.padded),
               plan.lockstep.batch * row_floats + dense_floats(plan.lockstep.dense, fixed.padded));
  if (fixed.nonnegative) plan.floats += nonnegative_floats(fixed.padded);
  plan.doubles = std::max(Offset{plan.slots}, plan.lockstep.batch * lockstep_doubles(chunks) +
                                                  dense_doubles(plan.lockstep.dense));
  return plan;
}

void solve_wide_rows(Precision precision, const RowProblem& problem, WidePlan& plan,
                     cudaStream_t stream) {
  for (const WideBatch& batch : plan.batches) {
    const RowTask* pieces = plan.pieces.data() + batch.first_piece;
    if (problem.bounded > 0 && fits_a_block(precision, problem.padded)) {
      solve_rows(precision, problem, pieces, batch.pieces, stream);
    } else {
      sum_matrices(precision, problem, pieces, batch.pieces, plan.jobs.data(), plan.job_count,
                   stream);
    }
    const RowTask* rows = plan.rows.data() + batch.first_row;
    if (batch.has_pieces) add_pieces(problem, rows, batch.rows, stream);
    if (problem.bounded > 0) {
      float* space = problem.piece_sums + plan.slots * slot_floats(problem.padded);
      solve_nonnegative(problem, rows, batch.rows, space, stream);
    } else {
      solve_by_matrices(problem, rows, batch.rows, stream);
    }
  }
  solve_lockstep(precision, problem, plan.lockstep, stream);
  solve_matrix_free(precision, problem, plan.matrix_free.data(), plan.matrix_free_count, stream);
}

}  // namespace likewise::cuda
