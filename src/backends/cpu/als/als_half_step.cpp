// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/als/als_half_step.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "algorithms/als/weights.h"
#include "backends/cpu/als/als_long_rows.h"
#include "backends/cpu/als/als_systems.h"
#include "backends/jobs/als_errors.h"
#include "backends/jobs/als_solver.h"
#include "core/system/parallel.h"
#include "core/system/per_thread.h"
#include "likewise/matrix.h"

namespace likewise {
namespace {

constexpr Index kMaxBlockRows = 128;
constexpr Offset kMaxBlockEntries = 32768;

[[nodiscard]] std::vector<AlsRowBlock> cut_rows(const CsrView& matrix,
                                                std::span<const Index> order) {
  std::vector<AlsRowBlock> blocks;
  for (Index at = 0; at < static_cast<Index>(order.size()); ++at) {
    const Offset size = matrix.row_size(order[static_cast<std::size_t>(at)]);
    if (blocks.empty() || blocks.back().count == kMaxBlockRows ||
        blocks.back().work + size > kMaxBlockEntries) {
      blocks.push_back({at, 0, 0});
    }
    ++blocks.back().count;
    blocks.back().work += size;
  }
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const AlsRowBlock& a, const AlsRowBlock& b) { return a.work > b.work; });
  return blocks;
}

void multiply_rows(Matrix& m, std::size_t rows, float factor) {
  if (factor == 1.0F) return;
  const Offset numbers = static_cast<Offset>(rows) * m.stride();
  for (Offset i = 0; i < numbers; ++i) m.data()[i] *= factor;
}

}  // namespace

AlsRules::AlsRules(const AlsParams& asked, const AlsShape& whole)
    : params(asked),
      shape(whole),
      exact(solves_exactly(asked, whole)),
      moves_starts(likewise::moves_starts(asked, whole)) {}

AlsRowContext AlsRules::context(Side fixed, const kernels::StoredRows& table, float scale,
                                const AlsBasis& basis, const float* bias, float mean,
                                Offset half_step, bool moved) const {
  kernels::Weighing weighing = kernels::Weighing::of(params);
  weighing.mean = mean;
  weighing.bias = bias;
  const Index fewest = std::min(shape.users, shape.items);
  return {
      table,    scale,       basis, params,
      weighing, rows(fixed), exact, auto_accuracy(params.feedback, half_step - 1, fewest, moved)};
}

AlsSolvedRows solved_rows(Factors& factors, Side side, const AlsRules& rules, Offset half_step) {
  const bool counts = rules.moves_starts && counts_changes(half_step);
  return {factors.side(side), factors.bias(side).span(), counts ? &factors.changes(side) : nullptr};
}

void enter_basis(const AlsRowContext& context, const AlsSolvedRows& from,
                 std::span<const Index> rows, Matrix& x, Matrix& z) {
  const Index factors = from.factors.cols();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    float* to = x.row(static_cast<Index>(r));
    std::copy_n(from.factors.row(rows[r]), factors, to);
    if (!from.bias.empty()) to[factors] = from.bias[static_cast<std::size_t>(rows[r])];
    if (!from.are_moved()) continue;
    const std::uint16_t* changes = from.changes->numbers.data() + Offset{rows[r]} * factors;
    for (Index j = 0; j < factors; ++j) to[j] = moved_start(to[j], from.changes->ratio, changes[j]);
  }
  multiply(static_cast<Index>(rows.size()), x.data(), x.stride(), context.basis.vectors.view(),
           z.data(), z.stride());
  multiply_rows(z, rows.size(), 1.0F / context.scale);
}

void leave_basis(const AlsRowContext& context, Matrix& z, std::span<const Index> rows, Matrix& x,
                 const AlsSolvedRows& to, std::span<ChangeSums> sums) {
  const Index factors = to.factors.cols();
  multiply_rows(z, rows.size(), context.scale);
  multiply(static_cast<Index>(rows.size()), z.data(), z.stride(), context.basis.transposed.view(),
           x.data(), x.stride());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const float* from = x.row(static_cast<Index>(r));
    const std::span<float> row = to.factors.row_span(rows[r]);
    sums[r] = {};
    if (to.changes != nullptr) {
      sums[r] = note_changes(row, from, to.changes->numbers.data() + Offset{rows[r]} * factors);
    }
    std::copy_n(from, factors, row.begin());
    if (!to.bias.empty()) to.bias[static_cast<std::size_t>(rows[r])] = from[factors];
  }
}

/// One thread's buffers: a block's rows as they are (x) and in the fixed side's basis (z).
struct AlsHalfStep::Worker {
  Matrix x;
  Matrix z;
  AlsRowSolver solver;
  std::vector<ChangeSums> changes;
  std::optional<AlsSummedRow> summed{};  ///< where factors are nonnegative
};

AlsHalfStep::AlsHalfStep(const CsrView& matrix, Side side, Index first_row, const AlsRules& rules)
    : matrix_(matrix), side_(side), first_row_(first_row) {
  const Offset row_bytes =
      Offset{padded_stride(als_width(rules.params))} * stored_bytes(rules.params.precision);
  std::vector<Index> long_rows;
  for (Index row = 0; row < matrix.rows; ++row) {
    const bool is_long = !rules.exact && is_long_row(matrix.row_size(row), row_bytes);
    (is_long ? long_rows : order_).push_back(row);
  }
  blocks_ = cut_rows(matrix, order_);
  long_rows_ = static_cast<Index>(long_rows.size());
  std::ranges::stable_sort(long_rows, std::ranges::greater{},
                           [&](Index row) { return matrix.row_size(row); });
  order_.insert(order_.end(), long_rows.begin(), long_rows.end());
}

AlsSums AlsHalfStep::solve(const AlsRowContext& context, const AlsSolvedRows& rows,
                           double objective, const RunControl& control) const {
  // Groups of long rows come first, then the blocks of short ones, in one loop: no thread waits.
  const std::vector<Index> long_groups = long_row_groups();
  const Offset groups = std::ssize(long_groups) - 1;
  const Index single = static_cast<Index>(order_.size()) - long_rows_;
  const Index width = context.table.cols;
  PerThread<Worker> workers([&] {
    Worker worker{Matrix(kMaxBlockRows, width), Matrix(kMaxBlockRows, width), AlsRowSolver(context),
                  std::vector<ChangeSums>(kMaxBlockRows)};
    if (context.params.nonnegative) worker.summed.emplace(context);
    return worker;
  });
  std::vector<AlsSums> parts(blocks_.size() + static_cast<std::size_t>(long_rows_));
  const std::span<AlsSums> long_parts(parts.data() + blocks_.size(),
                                      static_cast<std::size_t>(long_rows_));
  parallel_for(groups + std::ssize(blocks_), 1, [&](Offset task) {
    control.check();
    if (task < groups) {
      const auto group = static_cast<std::size_t>(task);
      const Index first = long_groups[group];
      const Index end = long_groups[group + 1];
      return solve_long(context, rows, single + first,
                        long_parts.subspan(static_cast<std::size_t>(first),
                                           static_cast<std::size_t>(end - first)),
                        control);
    }
    const auto i = static_cast<std::size_t>(task - groups);
    parts[i] = solve_block(context, rows, blocks_[i], workers.local());
  });
  AlsSums all{objective, {}};
  for (const AlsSums& part : parts) {
    all.objective += part.objective;
    all.changes += part.changes;
  }
  return all;
}

/// Where groups of long rows begin, and where the last ends: of at most about equal work, enough
/// for all threads, few enough that a group shares what it reads. Does not change results.
std::vector<Index> AlsHalfStep::long_row_groups() const {
  constexpr Index kMostRows = 64;  // whose vectors stay in the cache with what they read
  const Offset groups = std::max<Offset>(3 * thread_count(), long_rows_ / kMostRows);
  const std::span<const Index> rows =
      ordered(static_cast<Index>(order_.size()) - long_rows_, long_rows_);
  const auto add = [&](Offset sum, Index row) { return sum + matrix_.row_size(row); };
  const Offset work = std::accumulate(rows.begin(), rows.end(), Offset{0}, add);
  std::vector<Index> begins{0};
  Offset done = 0;  // of the group
  for (Index at = 0; at < long_rows_; ++at) {
    done = add(done, rows[static_cast<std::size_t>(at)]);
    if (done * groups < work && at + 1 - begins.back() < kMostRows && at + 1 < long_rows_) continue;
    begins.push_back(at + 1);
    done = 0;
  }
  return begins;
}

std::span<const Index> AlsHalfStep::ordered(Index first, Index count) const {
  return {order_.data() + first, static_cast<std::size_t>(count)};
}

/// Solves a block's rows one by one.
AlsSums AlsHalfStep::solve_block(const AlsRowContext& context, const AlsSolvedRows& solved,
                                 const AlsRowBlock& block, Worker& worker) const {
  const std::span<const Index> rows = ordered(block.first, block.count);
  enter_basis(context, solved, rows, worker.x, worker.z);
  AlsSums sums;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto columns = matrix_.row_columns(rows[r]);
    const auto values = matrix_.row_values(rows[r]);
    float* z = worker.z.row(static_cast<Index>(r));
    Index pivot = -1;
    sums.objective += worker.summed ? worker.summed->solve(columns, values, z, pivot)
                                    : worker.solver.solve(columns, values,
                                                          context.regularization(values), z, pivot);
    if (pivot >= 0) throw_singular(side_, first_row_ + rows[r], std::ssize(values), pivot);
  }
  const std::span<ChangeSums> changes = std::span(worker.changes).first(rows.size());
  leave_basis(context, worker.z, rows, worker.x, solved, changes);
  for (const ChangeSums& of_row : changes) sums.changes += of_row;
  return sums;
}

void AlsHalfStep::solve_long(const AlsRowContext& context, const AlsSolvedRows& solved, Index first,
                             std::span<AlsSums> sums, const RunControl& control) const {
  const std::span<const Index> rows = ordered(first, static_cast<Index>(sums.size()));
  std::vector<double> objectives(rows.size());
  std::vector<ChangeSums> changes(rows.size());
  Matrix x(static_cast<Index>(rows.size()), context.table.cols);
  Matrix z(static_cast<Index>(rows.size()), context.table.cols);
  enter_basis(context, solved, rows, x, z);
  const Index bad = solve_long_rows(context, matrix_, rows, z, objectives, control);
  if (bad >= 0) {
    const Index row = rows[static_cast<std::size_t>(bad)];
    throw_singular(side_, first_row_ + row, matrix_.row_size(row), 0);
  }
  leave_basis(context, z, rows, x, solved, changes);
  for (std::size_t r = 0; r < rows.size(); ++r) sums[r] = {objectives[r], changes[r]};
}

}  // namespace likewise
