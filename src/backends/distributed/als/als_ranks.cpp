// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/als/als_ranks.h"

#include <algorithm>
#include <utility>

#include "core/linalg/rows_of.h"

namespace likewise {
namespace {

constexpr Side kSides[] = {Side::kUsers, Side::kItems};

/// Numbers [first, first + count) in the memory of the whole, which must outlive them.
[[nodiscard]] Array<float> part_of(Array<float>& whole, Offset first, Offset count) {
  return whole.empty() ? Array<float>() : Array<float>::over({}, whole.data() + first, count);
}
[[nodiscard]] RowChanges part_of(RowChanges& whole, Offset first, Offset count, Index rows) {
  const Offset width = whole.width(rows);
  if (width == 0) return {};
  return {Array<std::uint16_t>::over({}, whole.numbers.data() + first * width, count * width),
          whole.ratio};
}
[[nodiscard]] Matrix part_of(Matrix& whole, Index first, Index count) {
  return {Array<float>::over({}, whole.row(first), Offset{count} * whole.stride()), count,
          whole.cols()};
}

class SolverOfRanks final : public AlsSolver {
 public:
  SolverOfRanks(AlsOfRanks how, Factors start, const MakeAlsRank& make_rank)
      : how_(std::move(how)), threads_(how_.plan.users.ranks()), factors_(std::move(start)) {
    const int size = how_.plan.users.ranks();
    ranks_.resize(static_cast<std::size_t>(size));
    for (int rank = 0; rank < size; ++rank) {
      users_.push_back(rows_of(how_.by_user, how_.plan.users, rank));
      if (how_.by_item) items_.push_back(rows_of(*how_.by_item, how_.plan.items, rank));
    }
    threads_.run(how_.patience, {}, [&](Communicator& ranks, const RunControl& control) {
      const auto r = static_cast<std::size_t>(ranks.rank());
      AlsRankPart part{users_[r].view(), {}, part_of_factors(ranks.rank())};
      if (how_.by_item) part.items = items_[r].view();
      ranks_[r] = make_rank(ranks, std::move(part), control);
    });
  }

  double solve(Side side, const RunControl& control) override {
    for (const std::string& line : std::exchange(how_.remarks, {})) control.remark(line);
    assembled_ = false;
    double objective = 0.0;
    threads_.run(how_.patience, control, [&](Communicator& ranks, const RunControl& own) {
      const double all = ranks_[static_cast<std::size_t>(ranks.rank())]->solve(ranks, side, own);
      if (ranks.rank() == 0) objective = all;
    });
    return objective;
  }

  const Factors& factors() override {
    if (!std::exchange(assembled_, true)) assemble();
    return factors_;
  }
  Factors take_factors() override {
    (void)factors();
    return std::move(factors_);
  }

 private:
  [[nodiscard]] static RowsOf rows_of(const CsrView& matrix, const Partition& parts, int rank) {
    return {matrix, parts.first(rank), parts.count(rank)};
  }

  [[nodiscard]] Factors part_of_factors(int rank) {
    Factors part;
    part.global_mean = factors_.global_mean;
    for (const Side side : kSides) {
      const Partition& parts = how_.plan.parts(side);
      part.side(side) = part_of(factors_.side(side), parts.first(rank), parts.count(rank));
      part.bias(side) = part_of(factors_.bias(side), parts.first(rank), parts.count(rank));
      part.changes(side) =
          part_of(factors_.changes(side), parts.first(rank), parts.count(rank), parts.rows());
    }
    return part;
  }

  /// All ranks at the same time, each in its part of the whole.
  void assemble() {
    threads_.run(how_.patience, {}, [&](Communicator& ranks, const RunControl&) {
      (void)ranks_[static_cast<std::size_t>(ranks.rank())]->factors();
    });
    for (const Side side : kSides) {
      factors_.changes(side).ratio = ranks_.front()->factors().changes(side).ratio;
    }
  }

  AlsOfRanks how_;
  RankThreads threads_;
  Factors factors_;  ///< the first ones, then whatever was asked for last
  bool assembled_ = true;
  std::vector<RowsOf> users_;
  std::vector<RowsOf> items_;
  std::vector<std::unique_ptr<AlsRank>> ranks_;
};

}  // namespace

AlsRanksPlan plan_ranks_together(Communicator& ranks, const AlsRankPart& part, AlsRanksPlan plan,
                                 const AlsParams& params, const RankSpeed& speed) {
  const AlsRowCost cost(params, plan.shape);
  const auto size = static_cast<std::size_t>(ranks.size());
  for (const Side side : kSides) {
    const bool users = side == Side::kUsers;
    const CsrView& fixed = users ? part.items.value() : part.users;
    const Partition& parts = plan.parts(other(side));
    const AlsRankLoad mine =
        own_load(users ? part.users : part.items.value(), parts.first(ranks.rank()),
                 parts.end(ranks.rank()), fixed.nnz(), cost);
    std::vector<AlsRankLoad> all(size);
    ranks.all_gather<AlsRankLoad>({&mine, 1}, all, std::vector<Offset>(size, 1));
    AlsRankLoad most;
    for (const AlsRankLoad& one : all) most = larger_load(most, one);
    plan.exchanges[users ? 0 : 1] = plan_exchange(most, ranks.size(), params, cost, speed);
  }
  return plan;
}

std::unique_ptr<AlsSolver> make_solver_of_ranks(AlsOfRanks how, Factors start,
                                                const MakeAlsRank& make_rank) {
  return std::make_unique<SolverOfRanks>(std::move(how), std::move(start), make_rank);
}

}  // namespace likewise
