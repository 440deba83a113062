// SPDX-License-Identifier: Apache-2.0
#include "backends/ranks/ranked_neighbours.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "algorithms/neighbours/similarity.h"
#include "backends/jobs/device_jobs.h"
#include "backends/nearest_rows.h"
#include "backends/neighbour_lists.h"
#include "core/lazy.h"
#include "core/parallel.h"
#include "core/rows_of.h"

namespace likewise {
namespace {

/// The k nearest of a row with these columns among all that the parts found. Two parts may hold the
/// same row, with the same bits.
[[nodiscard]] std::vector<Candidate> merge_lists(const std::vector<Neighbours>& parts, Index row,
                                                 const CsrView& rows, std::size_t k) {
  std::vector<Candidate> all;
  for (const Neighbours& part : parts) {
    for (std::size_t e = 0; e < part.rows_of(row).size(); ++e) {
      all.push_back({part.similarities_of(row)[e], part.rows_of(row)[e]});
    }
  }
  std::ranges::sort(all, before);
  const auto same = [](const Candidate& a, const Candidate& b) { return a.item == b.item; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  keep_nearest(rows.row_columns(row), rows, k, all);
  return all;
}

class RankedNeighbourSearch final : public NeighbourSearch {
 public:
  RankedNeighbourSearch(const RankDevices& ranks, const SharePays& pays,
                        const SimilarityProblem& problem)
      : ranks_(ranks), pays_(pays), problem_(problem), searches_(ranks.devices.size()) {
    if (pays_) {
      (void)of(0);
    } else {
      run_on_devices(ranks_, 0, {}, [&](const Device&, Communicator& rank, const RunControl&) {
        (void)of(rank.rank());
      });
    }
  }

  /// The whole only: its parts are those of the devices.
  [[nodiscard]] Neighbours find_part(const SearchPart&, Index k,
                                     const RunControl& control) const override {
    if (pays_) {
      const bool shared = pays_(problem_, k, ranks_.size());
      control.remark(fmt::format("neighbours on {} of {} devices: {}", shared ? ranks_.size() : 1,
                                 ranks_.size(),
                                 shared ? "that is expected to be faster than one"
                                        : "more are not expected to be faster"));
      if (!shared) return of(0).find(k, control);
    }
    return merged(find_parts(k, control), static_cast<std::size_t>(k));
  }

  void similarities(const WeightedRows& queries, float* out) const override {
    const Partition parts = even_parts(ranks_, queries.weights.rows);
    if (pays_ || parts.ranks() == 1) return of(0).similarities(queries, out);
    run_on_devices(
        ranks_, parts.counts(1), {}, [&](const Device&, Communicator& ranks, const RunControl&) {
          const Index first = parts.first(ranks.rank());
          const Index count = parts.count(ranks.rank());
          const RowsOf some(queries.weights, first, count);
          of(ranks.rank())
              .similarities({some.view(), queries.stats.subspan(static_cast<std::size_t>(first),
                                                                static_cast<std::size_t>(count))},
                            out + Offset{first} * rows());
        });
  }

 private:
  [[nodiscard]] Index rows() const { return problem_.rows().weights.rows; }

  [[nodiscard]] const NeighbourSearch& of(int rank) const {
    return searches_[static_cast<std::size_t>(rank)].get(
        [&] { return job<NeighbourJob>(ranks_.of(rank)).make_search(problem_); });
  }

  [[nodiscard]] std::vector<Neighbours> find_parts(Index k, const RunControl& control) const {
    std::vector<Neighbours> parts(searches_.size());
    run_on_devices(ranks_, rows(), control,
                   [&](const Device&, Communicator& ranks, const RunControl& own) {
                     const SearchPart part{ranks.rank(), ranks.size()};
                     const NeighbourSearch& search = of(part.number);
                     parts[static_cast<std::size_t>(part.number)] = search.find_part(part, k, own);
                   });
    return parts;
  }

  [[nodiscard]] Neighbours merged(const std::vector<Neighbours>& parts, std::size_t k) const {
    std::vector<std::vector<Candidate>> lists(static_cast<std::size_t>(rows()));
    parallel_for(rows(), 256, [&](Offset row) {
      lists[static_cast<std::size_t>(row)] =
          merge_lists(parts, static_cast<Index>(row), problem_.rows().weights, k);
    });
    return pack_neighbours(rows(), [&](Index row) {
      return std::span<const Candidate>(lists[static_cast<std::size_t>(row)]);
    });
  }

  RankDevices ranks_;
  SharePays pays_;
  const SimilarityProblem& problem_;
  mutable std::vector<Lazy<NeighbourSearch>> searches_;
};

}  // namespace

std::unique_ptr<NeighbourSearch> RankedNeighbourJob::make_search(
    const SimilarityProblem& problem) const {
  return std::make_unique<RankedNeighbourSearch>(ranks_, pays_, problem);
}

}  // namespace likewise
