// SPDX-License-Identifier: Apache-2.0
/// A rank's half-step by partial sums: its rows of the fixed side are added to the systems of all
/// rows being solved, and each rank solves the rows that it holds.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "algorithms/als/weights.h"
#include "backends/cpu/als/als_rank.h"
#include "backends/cpu/als/als_systems.h"
#include "backends/jobs/als_errors.h"
#include "core/system/parallel.h"
#include "core/system/per_thread.h"

namespace likewise {
namespace {

/// Systems that a rank has at a time, of the rows of all ranks.
constexpr Offset kSystemBytes = Offset{64} << 20;

/// Rows that one task solves.
constexpr Index kTaskRows = 16;

/// Rows [first, first + count) of each rank's part, which are solved together.
struct Slice {
  std::vector<Index> firsts;
  std::vector<Index> counts;

  Slice(const Partition& parts, Index begin, Index rows) {
    for (int rank = 0; rank < parts.ranks(); ++rank) {
      const Index from = std::min(parts.count(rank), begin);
      firsts.push_back(parts.first(rank) + from);
      counts.push_back(std::min(parts.count(rank) - from, rows));
    }
  }
  [[nodiscard]] std::vector<Offset> numbers(Offset of_one) const {
    std::vector<Offset> all;
    for (const Index count : counts) all.push_back(count * of_one);
    return all;
  }
  [[nodiscard]] std::vector<Index> rows() const {
    std::vector<Index> all;
    for (std::size_t rank = 0; rank < firsts.size(); ++rank) {
      for (Index r = 0; r < counts[rank]; ++r) all.push_back(firsts[rank] + r);
    }
    return all;
  }
};

class SummingStep final : public AlsRankStep {
 public:
  SummingStep(const AlsRankSide& side, int rank)
      : rules_(side.rules),
        parts_(side.plan.parts(side.solved)),
        solved_(side.solved),
        rank_(static_cast<std::size_t>(rank)),
        rows_(side.rows),
        sums_(transpose(side.fixed_rows)),
        numbers_(system_numbers(als_width(side.rules.params))) {}

  AlsSums solve(Communicator& ranks, const AlsFixedPart& fixed, const AlsSolvedRows& rows,
                double objective, const RunControl& control) override {
    const AlsRowContext context =
        rules_.context(other(solved_), fixed.own.rows(), 1.0F, fixed.own.basis(),
                       fixed.bias.empty() ? nullptr : fixed.bias.data(), fixed.mean,
                       fixed.half_step, rows.are_moved());
    AlsSums sums{objective, {}};
    const Offset system_bytes = numbers_ * static_cast<Offset>(sizeof(double));
    const auto at_a_time =
        static_cast<Index>(std::clamp<Offset>(kSystemBytes / system_bytes / ranks.size(), 1,
                                              std::max<Offset>(1, parts_.largest_count())));
    for (Index begin = 0; begin < parts_.largest_count(); begin += at_a_time) {
      const Slice slice(parts_, begin, at_a_time);
      const std::vector<double> part = sum(context, slice.rows(), control);
      std::vector<double> systems(static_cast<std::size_t>(slice.counts[rank_] * numbers_));
      ranks.reduce_scatter(part, systems, slice.numbers(numbers_));
      solve_slice(context, slice, systems, rows, sums, control);
    }
    return sums;
  }

 private:
  struct Worker {
    Matrix x;
    Matrix z;
    AlsSystemSolver solver;
  };

  [[nodiscard]] std::span<double> system(std::span<double> all, Offset i) const {
    return all.subspan(static_cast<std::size_t>(i * numbers_), static_cast<std::size_t>(numbers_));
  }

  /// What this rank's rows of the fixed side add to these rows.
  [[nodiscard]] std::vector<double> sum(const AlsRowContext& context,
                                        const std::vector<Index>& rows,
                                        const RunControl& control) const {
    const CsrView matrix = sums_.view();
    std::vector<double> part(rows.size() * static_cast<std::size_t>(numbers_));
    PerThread<AlsSystemSum> workers([&] { return AlsSystemSum(context); });
    parallel_for(std::ssize(rows), 1, [&](Offset i) {
      control.check();
      const Index row = rows[static_cast<std::size_t>(i)];
      workers.local().sum(matrix.row_columns(row), matrix.row_values(row), system(part, i));
    });
    return part;
  }

  /// Adds to `sums`.
  void solve_slice(const AlsRowContext& context, const Slice& slice, std::span<double> systems,
                   const AlsSolvedRows& to, AlsSums& sums, const RunControl& control) const {
    const Index first = slice.firsts[rank_] - parts_.first(static_cast<int>(rank_));
    const Index width = context.table.cols;
    std::vector<double> parts(static_cast<std::size_t>(slice.counts[rank_]));
    std::vector<ChangeSums> changes(parts.size());
    PerThread<Worker> workers([&] {
      return Worker{Matrix(kTaskRows, width), Matrix(kTaskRows, width), AlsSystemSolver(context)};
    });
    parallel_blocks(std::ssize(parts), kTaskRows, [&](Offset begin, Offset end, Offset) {
      control.check();
      Worker& worker = workers.local();
      std::vector<Index> rows(static_cast<std::size_t>(end - begin));
      std::iota(rows.begin(), rows.end(), first + static_cast<Index>(begin));
      enter_basis(context, to, rows, worker.x, worker.z);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const Offset i = begin + static_cast<Offset>(r);
        parts[static_cast<std::size_t>(i)] = solve_row(rows[r], system(systems, i), worker.solver,
                                                       worker.z.row(static_cast<Index>(r)));
      }
      leave_basis(context, worker.z, rows, worker.x, to,
                  std::span(changes).subspan(static_cast<std::size_t>(begin), rows.size()));
    });
    sums.objective = std::accumulate(parts.begin(), parts.end(), sums.objective);
    for (const ChangeSums& of_row : changes) sums.changes += of_row;
  }

  /// `row` counts from the rank's first.
  [[nodiscard]] double solve_row(Index row, std::span<const double> system, AlsSystemSolver& solver,
                                 float* z) const {
    Index pivot = -1;
    const double objective = solver.solve(system, rows_.row_values(row), z, pivot);
    if (pivot >= 0) {
      throw_singular(solved_, parts_.first(static_cast<int>(rank_)) + row, rows_.row_size(row),
                     pivot);
    }
    return objective;
  }

  const AlsRules& rules_;
  const Partition& parts_;
  Side solved_;
  std::size_t rank_;
  CsrView rows_;    ///< the rank's rows of the solved side
  CsrMatrix sums_;  ///< all rows of the solved side x the rank's rows of the fixed side
  Offset numbers_;  ///< of a system
};

}  // namespace

std::unique_ptr<AlsRankStep> make_summing_step(Communicator& ranks, const AlsRankSide& side) {
  return std::make_unique<SummingStep>(side, ranks.rank());
}

}  // namespace likewise
