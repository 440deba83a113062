// SPDX-License-Identifier: Apache-2.0
/// A rank whose users meet the items stripe by stripe.
#include "backends/cpu/sgd/sgd_rank_parts.h"
#include "backends/cpu/sgd/sgd_table.h"
#include "core/system/parallel.h"

namespace likewise {
namespace {

/// `blocked`, and where there is one rank `racing` and `serial`. The rank has the users of some
/// stripes; in turn t it needs the items of stripes [first + t, end + t), and after it passes the
/// first of them on to the rank before it.
class SgdStripesRank final : public CpuSgdRank {
 public:
  /// `entries` are those of the rank's stripes.
  SgdStripesRank(const SgdRanksPlan& plan, int rank, const Factors& start, Array<SgdEntry> entries)
      : plan_(plan),
        first_(plan.stripes.first(rank)),
        end_(plan.stripes.end(rank)),
        run_(make_run(plan, start)),
        users_(plan.grid, {Side::kUsers, plan.users.first(rank), plan.users.end(rank)}, plan.params,
               start),
        entries_(std::move(entries)) {
    number_entries();
    for (Index stripe = 0; stripe < stripes(); ++stripe) {
      items_.emplace_back(plan.grid, items_of(stripe), plan.params, start);
      if (!is_home(stripe)) drop(items_.back());
    }
  }

  double epoch(Communicator* ranks, double learning_rate, const RunControl& control) override {
    set_rate(run_, plan_, learning_rate);
    const double losses =
        plan_.params.order == SgdOrder::kRacing ? race(control) : rotate(ranks, control);
    std::vector<double> of_users(static_cast<std::size_t>(users_.range.rows()));
    users_.regularization(plan_.grid, of_users);
    std::vector<double> of_items;
    for (Index stripe = first_; stripe < end_; ++stripe) {
      const SgdTable& table = items(stripe);
      std::vector<double> terms(static_cast<std::size_t>(table.range.rows()));
      table.regularization(plan_.grid, terms);
      of_items.insert(of_items.end(), terms.begin(), terms.end());
    }
    return losses + regularization(ranks, plan_.users, std::move(of_users)) +
           regularization(ranks, plan_.items, std::move(of_items));
  }

  void store(Factors& to) const override {
    users_.store(plan_.grid, to);
    for (Index stripe = first_; stripe < end_; ++stripe) items(stripe).store(plan_.grid, to);
  }

 private:
  [[nodiscard]] Index stripes() const { return plan_.grid.stripes; }
  [[nodiscard]] bool is_home(Index stripe) const { return stripe >= first_ && stripe < end_; }
  [[nodiscard]] SgdRange items_of(Index stripe) const {
    const std::vector<Index>& begin = plan_.grid.items.begin;
    return {Side::kItems, begin[static_cast<std::size_t>(stripe)],
            begin[static_cast<std::size_t>(stripe) + 1]};
  }
  [[nodiscard]] SgdTable& items(Index stripe) { return items_[static_cast<std::size_t>(stripe)]; }
  [[nodiscard]] const SgdTable& items(Index stripe) const {
    return items_[static_cast<std::size_t>(stripe)];
  }

  /// Gives the rank's blocks numbers that begin at its first user and at the first item of a
  /// stripe.
  void number_entries() {
    const auto wide = static_cast<std::size_t>(stripes());
    const auto from = static_cast<std::size_t>(first_) * wide;
    const auto to = static_cast<std::size_t>(end_) * wide;
    for (std::size_t block = from; block <= to; ++block) {
      begin_.push_back(plan_.grid.begin[block] - plan_.grid.begin[from]);
    }
    parallel_for(std::ssize(begin_) - 1, 1, [&](Offset block) {
      const Index first_item = items_of(static_cast<Index>(block % stripes())).first;
      const auto b = static_cast<std::size_t>(block);
      for (Offset e = begin_[b]; e < begin_[b + 1]; ++e) {
        entries_[e].user -= users_.range.first;
        entries_[e].item -= first_item;
      }
    });
  }

  /// What a rank needs not while others have it. The decays stay.
  static void drop(SgdTable& table) {
    table.factors = Matrix();
    table.bias = {};
    table.squares = {};
  }

  [[nodiscard]] double take_steps(Index p, Index turn) {
    const Index q = plan_.grid.item_stripe(p, turn);
    const auto block = static_cast<std::size_t>(p - first_) * static_cast<std::size_t>(stripes()) +
                       static_cast<std::size_t>(q);
    kernels::SgdRun steps = run_;
    steps.users = users_.rows();
    steps.items = items(q).rows();
    steps.entries =
        entries_.span().subspan(static_cast<std::size_t>(begin_[block]),
                                static_cast<std::size_t>(begin_[block + 1] - begin_[block]));
    return kernels::take_sgd_steps(steps);
  }

  double rotate(Communicator* ranks, const RunControl& control) {
    const Offset own = end_ - first_;
    std::vector<double> losses(static_cast<std::size_t>(stripes() * own));
    for (Index turn = 0; turn < stripes(); ++turn) {
      control.check();
      parallel_for(own, 1, [&](Offset p) {
        losses[static_cast<std::size_t>(turn * own + p)] =
            take_steps(first_ + static_cast<Index>(p), turn);
      });
      if (ranks != nullptr && ranks->size() > 1) pass_on(*ranks, turn);
    }
    const std::vector<double> all =
        gathered(ranks, std::move(losses), plan_.stripes.counts(stripes()));
    double total = 0.0;
    for (Index turn = 0; turn < stripes(); ++turn) {
      double sum = 0.0;
      for (int rank = 0; rank < plan_.stripes.ranks(); ++rank) {
        const Offset count = plan_.stripes.count(rank);
        const Offset begin = Offset{plan_.stripes.first(rank)} * stripes() + turn * count;
        for (Offset at = begin; at < begin + count; ++at) sum += all[static_cast<std::size_t>(at)];
      }
      total += sum;
    }
    return total;
  }

  /// Items in stripe first + turn have met all users here that they will in this round.
  void pass_on(Communicator& ranks, Index turn) {
    SgdTable& out = items((first_ + turn) % stripes());
    SgdTable& in = items((end_ + turn) % stripes());
    const Index rows = in.range.rows();
    Matrix factors(rows, out.factors.cols());
    Array<float> bias(plan_.params.biases ? rows : 0);
    Array<float> squares(is_adaptive(plan_.params) ? rows : 0);
    const int to_before = ranks.size() - 1;
    const auto shift = [&](const float* from, Offset count, float* to, Offset expected) {
      ranks.shift<float>(to_before, {from, static_cast<std::size_t>(count)},
                         {to, static_cast<std::size_t>(expected)});
    };
    const Offset stride = run_.stride;
    shift(out.factors.data(), out.range.rows() * stride, factors.data(), rows * stride);
    if (plan_.params.biases) shift(out.bias.data(), out.bias.size(), bias.data(), bias.size());
    if (is_adaptive(plan_.params)) {
      shift(out.squares.data(), out.squares.size(), squares.data(), squares.size());
    }
    drop(out);
    in.factors = std::move(factors);
    in.bias = std::move(bias);
    in.squares = std::move(squares);
  }

  /// Blocks at any time: whoever is done takes the next.
  double race(const RunControl& control) {
    const Offset blocks = Offset{stripes()} * stripes();
    std::vector<double> losses(static_cast<std::size_t>(blocks));
    parallel_for(blocks, 1, [&](Offset at) {
      control.check();
      losses[static_cast<std::size_t>(at)] =
          take_steps(static_cast<Index>(at % stripes()), static_cast<Index>(at / stripes()));
    });
    return std::accumulate(losses.begin(), losses.end(), 0.0);
  }

  const SgdRanksPlan& plan_;
  Index first_;  ///< stripes [first, end) of both sides are at home here
  Index end_;
  kernels::SgdRun run_;
  SgdTable users_;
  std::vector<SgdTable> items_;  ///< by stripe; those that other ranks have hold no factors
  std::vector<Offset> begin_;    ///< of block (p - first) stripes + q, and the end
  Array<SgdEntry> entries_;
};

}  // namespace

std::unique_ptr<CpuSgdRank> make_stripes_rank(const SgdRanksPlan& plan, int rank,
                                              const Factors& start, Array<SgdEntry> entries) {
  return std::make_unique<SgdStripesRank>(plan, rank, start, std::move(entries));
}

}  // namespace likewise
