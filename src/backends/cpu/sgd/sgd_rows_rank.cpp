// SPDX-License-Identifier: Apache-2.0
/// A rank that moves rows of one side after the other.
#include <optional>

#include "backends/cpu/sgd/sgd_rank_parts.h"
#include "backends/cpu/sgd/sgd_table.h"
#include "core/system/parallel.h"

namespace likewise {
namespace {

/// Lines that one task takes.
constexpr Offset kLines = 64;

/// `alternating`: the rank moves its rows of one side, with all of the other held fixed.
class SgdRowsRank final : public CpuSgdRank {
 public:
  SgdRowsRank(const SgdRanksPlan& plan, int rank, const Factors& start, SgdRowEntries of_users,
              SgdRowEntries of_items)
      : plan_(plan),
        run_(make_run(plan, start)),
        users_(plan, rank, Side::kUsers, start, std::move(of_users)),
        items_(plan, rank, Side::kItems, start, std::move(of_items)) {
    run_.moves_items = false;
  }

  double epoch(Communicator* ranks, double learning_rate, const RunControl& control) override {
    set_rate(run_, plan_, learning_rate);
    double losses[] = {move(users_, items_, ranks, control)};
    (void)move(items_, users_, ranks, control);
    if (ranks != nullptr) ranks->all_reduce(losses);
    double sum = losses[0];
    for (const Half* half : {&users_, &items_}) {
      std::vector<double> terms(static_cast<std::size_t>(half->own.range.rows()));
      half->own.regularization(plan_.grid, terms);
      sum += regularization(ranks, plan_.parts(half->own.range.side), std::move(terms));
    }
    return sum;
  }

  void store(Factors& to) const override {
    users_.own.store(plan_.grid, to);
    items_.own.store(plan_.grid, to);
  }

 private:
  /// One side: what the rank moves, and what it sees of all rows.
  struct Half {
    Half(const SgdRanksPlan& plan, int rank, Side side, const Factors& start, SgdRowEntries rows)
        : entries(std::move(rows)),
          long_rows(pieces_of(entries)),
          own(plan.grid, {side, plan.parts(side).first(rank), plan.parts(side).end(rank)},
              plan.params, start, entries.piece_of) {
      if (plan.ranks() > 1) {
        all.emplace(plan.grid, SgdRange{side, 0, plan.parts(side).rows()}, plan.params, start);
      }
    }
    [[nodiscard]] kernels::SgdRows fixed() { return all ? all->rows() : own.rows(); }

    SgdRowEntries entries;
    std::vector<SgdPieces> long_rows;
    SgdTable own;
    std::optional<SgdTable> all;  ///< where other ranks have rows, too; its squares are not kept
  };

  double move(Half& moved, Half& fixed, Communicator* ranks, const RunControl& control) {
    SgdTable& table = moved.own;
    std::vector<float> start;
    for (const SgdPieces& pieces : moved.long_rows) {
      start.push_back(table.squares.empty() ? 0.0F : table.squares[pieces.row]);
    }
    table.split(moved.entries);
    kernels::SgdRun run = run_;
    run.users = table.rows();
    run.items = fixed.fixed();
    const Index count = moved.entries.lines();
    std::vector<double> losses(static_cast<std::size_t>((count + kLines - 1) / kLines));
    parallel_blocks(count, kLines, [&](Offset begin, Offset end, Offset block) {
      control.check();
      const Offset first = moved.entries.begin[static_cast<std::size_t>(begin)];
      const Offset last = moved.entries.begin[static_cast<std::size_t>(end)];
      kernels::SgdRun some = run;
      some.entries = moved.entries.entries.span().subspan(static_cast<std::size_t>(first),
                                                          static_cast<std::size_t>(last - first));
      losses[static_cast<std::size_t>(block)] = kernels::take_sgd_steps(some);
    });
    table.join(moved.entries, moved.long_rows, start);
    if (moved.all) gather(moved, *ranks);
    return std::accumulate(losses.begin(), losses.end(), 0.0);
  }

  /// All ranks get the rows that each has moved.
  void gather(Half& moved, Communicator& ranks) const {
    const Partition& parts = plan_.parts(moved.own.range.side);
    const auto rows = static_cast<std::size_t>(moved.own.range.rows());
    const auto stride = static_cast<std::size_t>(run_.stride);
    const auto all_rows = static_cast<std::size_t>(parts.rows());
    ranks.all_gather<float>({moved.own.factors.data(), rows * stride},
                            {moved.all->factors.data(), all_rows * stride},
                            parts.counts(run_.stride));
    if (!plan_.params.biases) return;
    ranks.all_gather<float>({moved.own.bias.data(), rows}, {moved.all->bias.data(), all_rows},
                            parts.counts(1));
  }

  const SgdRanksPlan& plan_;
  kernels::SgdRun run_;
  Half users_;
  Half items_;
};

}  // namespace

std::unique_ptr<CpuSgdRank> make_rows_rank(const SgdRanksPlan& plan, int rank, const Factors& start,
                                           SgdRowEntries users, SgdRowEntries items) {
  return std::make_unique<SgdRowsRank>(plan, rank, start, std::move(users), std::move(items));
}

}  // namespace likewise
