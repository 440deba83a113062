// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/devices/ranked_top_k.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "backends/jobs/device_jobs.h"
#include "core/linalg/rows_of.h"
#include "core/system/parallel.h"
#include "likewise/error.h"
#include "retrieval/top_k.h"

namespace likewise {
namespace {

using Scorers = std::vector<std::unique_ptr<Scorer>>;

/// make(device, rank) on each, all at the same time.
template <class Make>
[[nodiscard]] Scorers make_scorers(const RankDevices& ranks, const Make& make) {
  Scorers scorers(ranks.devices.size());
  run_on_devices(ranks, 0, {}, [&](const Device& device, Communicator& rank, const RunControl&) {
    scorers[static_cast<std::size_t>(rank.rank())] = make(job<TopKJob>(device), rank.rank());
  });
  return scorers;
}

/// Every device has all items and answers a part of the queries.
class WholeScorer final : public Scorer {
 public:
  WholeScorer(const RankDevices& ranks, const MatrixView& items, std::span<const float> bias,
              ScoreKind score)
      : ranks_(ranks), items_(items), scorers_(make_scorers(ranks, [&](const TopKJob& top_k, int) {
          return top_k.make_scorer(items, bias, score);
        })) {}

  [[nodiscard]] TopKResult top_k(const MatrixView& queries, Index k, const TopKFilter& filter,
                                 const RunControl& control) const override {
    const Partition parts = even_parts(ranks_, queries.rows);
    if (parts.ranks() == 1) return next().top_k(queries, k, filter, control);
    check_top_k(items_, queries, k, filter);
    TopKResult all = room_for_top_k(queries.rows, k, items_.rows);
    try {
      run_on_devices(ranks_, parts.counts(1), control,
                     [&](const Device&, Communicator& ranks, const RunControl& own) {
                       const Index first = parts.first(ranks.rank());
                       const Index count = parts.count(ranks.rank());
                       TopKFilter some{{}, filter.allowed};
                       const RowsOf excluded(filter.excluded, first,
                                             filter.excluded.rows > 0 ? count : 0);
                       if (filter.excluded.rows > 0) some.excluded = excluded.view();
                       TopKResult part = answers_of(all, first, count);
                       of(ranks.rank()).top_k_into(queries.slice(first, count), some, own, part);
                     });
    } catch (const Error& error) {
      // A device names the row of its part, and this the row of the whole.
      if (error.kind() == ErrorKind::kInvalidArgument) check_top_k_numbers(items_, queries, filter);
      throw;
    }
    return all;
  }

  void score_all(const MatrixView& queries, float* out) const override {
    const Partition parts = even_parts(ranks_, queries.rows);
    if (parts.ranks() == 1) return next().score_all(queries, out);
    run_on_devices(ranks_, parts.counts(1), {},
                   [&](const Device&, Communicator& ranks, const RunControl&) {
                     const Index first = parts.first(ranks.rank());
                     of(ranks.rank())
                         .score_all(queries.slice(first, parts.count(ranks.rank())),
                                    out + Offset{first} * items_.rows);
                   });
  }

 private:
  [[nodiscard]] const Scorer& of(int rank) const {
    return *scorers_[static_cast<std::size_t>(rank)];
  }
  /// For a query alone: the devices take turns.
  [[nodiscard]] const Scorer& next() const { return *scorers_[turn_++ % scorers_.size()]; }

  RankDevices ranks_;
  MatrixView items_;
  Scorers scorers_;
  mutable std::atomic<unsigned> turn_{0};
};

/// Excluded items in [first, end) of rows [first_row, first_row + rows), counted from `first`.
[[nodiscard]] CsrMatrix excluded_part(const CsrView& excluded, Index first_row, Index rows,
                                      Index first, Index end) {
  const auto within = [&](Index row) {
    const auto all = excluded.row_columns(first_row + row);
    const auto from = std::lower_bound(all.begin(), all.end(), first);
    const auto to = std::lower_bound(from, all.end(), end);
    return all.subspan(static_cast<std::size_t>(from - all.begin()),
                       static_cast<std::size_t>(to - from));
  };
  CsrMatrix part{rows, end - first, Array<Offset>(Offset{rows} + 1), {}, {}};
  for (Index row = 0; row < rows; ++row) {
    part.offsets[row + 1] = part.offsets[row] + std::ssize(within(row));
  }
  part.columns = Array<Index>::uninitialized(part.offsets[rows]);
  parallel_for(rows, 256, [&](Offset row) {
    const auto items = within(static_cast<Index>(row));
    std::transform(items.begin(), items.end(), part.columns.begin() + part.offsets[row],
                   [first](Index item) { return item - first; });
  });
  return part;
}

/// Every device has a part of the items. The queries go around the ring: in turn t rank r answers
/// part (r + t) mod R of them from its items, and merges the answers into the lists that they
/// bring. No two ranks have the same lists at the same time.
class PartsScorer final : public Scorer {
 public:
  PartsScorer(const RankDevices& ranks, const MatrixView& items, std::span<const float> bias,
              ScoreKind score)
      : ranks_(ranks),
        items_(items),
        parts_(even_parts(ranks, items.rows)),
        scorers_(make_scorers(ranks, [&](const TopKJob& top_k, int rank) {
          if (rank >= parts_.ranks()) return std::unique_ptr<Scorer>();
          const auto first = static_cast<std::size_t>(parts_.first(rank));
          const auto count = static_cast<std::size_t>(parts_.count(rank));
          return top_k.make_scorer(items.slice(parts_.first(rank), parts_.count(rank)),
                                   bias.empty() ? bias : bias.subspan(first, count), score);
        })) {}

  [[nodiscard]] TopKResult top_k(const MatrixView& queries, Index k, const TopKFilter& filter,
                                 const RunControl& control) const override {
    check_top_k(items_, queries, k, filter);
    check_top_k_numbers(items_, queries, filter);
    TopKResult all = make_top_k_result(queries.rows, k, items_.rows);
    if (all.k == 0 || queries.rows == 0) return all;
    const Ring ring{queries, filter, parts_of_queries(queries.rows)};
    run_on_devices(ranks_, item_shares(queries.rows), control,
                   [&](const Device&, Communicator& ranks, const RunControl& own) {
                     for (int turn = 0; turn < ranks.size(); ++turn) {
                       if (turn > 0) ranks.barrier();
                       const int part = (ranks.rank() + turn) % ranks.size();
                       answer(ring, ranks.rank(), part, turn, own, all);
                     }
                   });
    return all;
  }

  void score_all(const MatrixView& queries, float* out) const override {
    check_query_width(items_, queries);
    run_on_devices(
        ranks_, item_shares(0), {}, [&](const Device&, Communicator& ranks, const RunControl&) {
          const int rank = ranks.rank();
          const Offset count = parts_.count(rank);
          std::vector<float> own(static_cast<std::size_t>(queries.rows * count));
          of(rank).score_all(queries, own.data());
          for (Offset q = 0; q < queries.rows; ++q) {
            std::copy_n(own.data() + q * count, count, out + q * items_.rows + parts_.first(rank));
          }
        });
  }

 private:
  struct Ring {
    const MatrixView& queries;
    const TopKFilter& filter;
    Partition parts;  ///< of the queries
  };

  [[nodiscard]] const Scorer& of(int rank) const {
    return *scorers_[static_cast<std::size_t>(rank)];
  }
  /// As many as there are ranks with items, maybe empty.
  [[nodiscard]] Partition parts_of_queries(Index queries) const {
    return cut_evenly(queries, parts_.ranks());
  }
  [[nodiscard]] std::vector<Offset> item_shares(Offset queries) const {
    return parts_of_queries(static_cast<Index>(queries)).counts(1);
  }

  /// The answers of a rank's items to a part of the queries, merged into their lists.
  void answer(const Ring& ring, int rank, int part, int turn, const RunControl& control,
              TopKResult& all) const {
    const Index first = ring.parts.first(part);
    const Index count = ring.parts.count(part);
    if (count == 0) return;
    const Index from = parts_.first(rank);
    TopKFilter own;
    CsrMatrix excluded;
    if (ring.filter.excluded.rows > 0) {
      excluded = excluded_part(ring.filter.excluded, first, count, from, parts_.end(rank));
      own.excluded = excluded.view();
    }
    if (!ring.filter.allowed.empty()) {
      own.allowed = ring.filter.allowed.subspan(static_cast<std::size_t>(from),
                                                static_cast<std::size_t>(parts_.count(rank)));
    }
    // The rank's turns are the parts of its work.
    RunControl turns = control;
    turns.on_progress = [&](const ProgressUpdate& update) {
      if (update.unit.empty()) return turn == 0 ? control.remark(update.stage) : void();
      control.report(update.stage, update.total * turn + update.done,
                     update.total * ring.parts.ranks(), update.unit);
    };
    const TopKResult found = of(rank).top_k(ring.queries.slice(first, count), all.k, own, turns);
    parallel_for(count, 64, [&](Offset q) {
      merge(found, static_cast<Index>(q), from, all, first + static_cast<Index>(q));
    });
  }

  /// Both lists are sorted.
  static void merge(const TopKResult& found, Index query, Index first_item, TopKResult& all,
                    Index to) {
    const auto list = [](const TopKResult& result, Index row, Index offset) {
      std::vector<Candidate> candidates;
      for (Index at = 0; at < result.counts[row]; ++at) {
        const Offset e = Offset{row} * result.k + at;
        candidates.push_back({result.scores[e], result.items[e] + offset});
      }
      return candidates;
    };
    const std::vector<Candidate> old = list(all, to, 0);
    const std::vector<Candidate> more = list(found, query, first_item);
    std::vector<Candidate> both(old.size() + more.size());
    std::ranges::merge(old, more, both.begin(), before);
    both.resize(std::min(both.size(), static_cast<std::size_t>(all.k)));
    write_answer(both, to, all);
  }

  RankDevices ranks_;
  MatrixView items_;
  Partition parts_;  ///< of the items: for fewer ranks than there are, where items are few
  Scorers scorers_;
};

}  // namespace

ItemPlacement RankedTopKJob::place(const MatrixView& items) const {
  if (placement_) return *placement_;
  const bool whole = std::ranges::all_of(ranks_.devices, [&](const Device& device) {
    return job<TopKJob>(device).keeps(items.rows, items.cols);
  });
  return whole ? ItemPlacement::kWhole : ItemPlacement::kParts;
}

std::unique_ptr<Scorer> RankedTopKJob::make_scorer(const MatrixView& items,
                                                   std::span<const float> item_bias,
                                                   ScoreKind score) const {
  check_item_table(items, item_bias, score);
  if (place(items) == ItemPlacement::kWhole || items.rows == 0) {
    return std::make_unique<WholeScorer>(ranks_, items, item_bias, score);
  }
  return std::make_unique<PartsScorer>(ranks_, items, item_bias, score);
}

}  // namespace likewise
