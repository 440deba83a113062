// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/devices/ranked_knn.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "algorithms/knn/similarity.h"
#include "backends/jobs/device_jobs.h"
#include "core/lazy.h"
#include "core/linalg/rows_of.h"
#include "core/system/parallel.h"
#include "retrieval/knn_lists.h"
#include "retrieval/nearest_rows.h"

namespace likewise {
namespace {

/// Lists of parts of the pairs, as those of all pairs.
class MergedLists {
 public:
  MergedLists(const std::vector<KnnLists>& parts, const CsrView& rows, Index k)
      : parts_(parts),
        rows_(rows),
        k_(static_cast<std::size_t>(k)),
        merged_(static_cast<std::size_t>(rows.rows)) {
    parallel_for(rows.rows, kGrain, [&](Offset row) {
      const auto r = static_cast<Index>(row);
      if (owner(r) == nullptr) merged_[static_cast<std::size_t>(row)] = merge(r);
    });
  }

  [[nodiscard]] KnnLists pack() const {
    KnnLists all = knn_lists_of_sizes(rows_.rows, [&](Index row) {
      const KnnLists* const one = owner(row);
      return one != nullptr ? one->rows_of(row).size() : list(row).size();
    });
    parallel_for(rows_.rows, kGrain, [&](Offset row) {
      const auto r = static_cast<Index>(row);
      Index* const to = all.rows.data() + all.offsets[row];
      float* const similar = all.similarities.data() + all.offsets[row];
      if (const KnnLists* const one = owner(r)) {
        std::ranges::copy(one->rows_of(r), to);
        std::ranges::copy(one->similarities_of(r), similar);
      } else {
        std::ranges::transform(list(r), to, &Candidate::item);
        std::ranges::transform(list(r), similar, &Candidate::score);
      }
    });
    return all;
  }

 private:
  static constexpr Offset kGrain = 256;

  /// The part that alone has neighbours of this row, in their order; null where several have some.
  /// Any, where none has.
  [[nodiscard]] const KnnLists* owner(Index row) const {
    const KnnLists* only = &parts_.front();
    int having = 0;
    for (const KnnLists& part : parts_) {
      if (part.rows_of(row).empty()) continue;
      only = &part;
      ++having;
    }
    return having > 1 ? nullptr : only;
  }
  [[nodiscard]] const std::vector<Candidate>& list(Index row) const {
    return merged_[static_cast<std::size_t>(row)];
  }

  /// The nearest among all that the parts found. Two parts may hold the same row, with the same
  /// bits.
  [[nodiscard]] std::vector<Candidate> merge(Index row) const {
    std::vector<Candidate> all;
    for (const KnnLists& part : parts_) {
      for (std::size_t e = 0; e < part.rows_of(row).size(); ++e) {
        all.push_back({part.similarities_of(row)[e], part.rows_of(row)[e]});
      }
    }
    std::ranges::sort(all, before);
    const auto same = [](const Candidate& a, const Candidate& b) { return a.item == b.item; };
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
    keep_nearest(rows_.row_columns(row), rows_, k_, all);
    return all;
  }

  const std::vector<KnnLists>& parts_;
  CsrView rows_;
  std::size_t k_;
  std::vector<std::vector<Candidate>> merged_;
};

class RankedKnnSearch final : public KnnSearch {
 public:
  RankedKnnSearch(const RankDevices& ranks, const SharePays& pays, const SimilarityProblem& problem)
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
  [[nodiscard]] KnnLists find_part(const SearchPart&, Index k,
                                   const RunControl& control) const override {
    if (pays_) {
      const bool shared = pays_(problem_, k, ranks_.size());
      control.remark(fmt::format("neighbours on {} of {} devices: {}", shared ? ranks_.size() : 1,
                                 ranks_.size(),
                                 shared ? "that is expected to be faster than one"
                                        : "more are not expected to be faster"));
      if (!shared) return of(0).find(k, control);
    }
    return MergedLists(find_parts(k, control), problem_.rows().weights, k).pack();
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

  [[nodiscard]] const KnnSearch& of(int rank) const {
    return searches_[static_cast<std::size_t>(rank)].get(
        [&] { return job<KnnJob>(ranks_.of(rank)).make_search(problem_); });
  }

  [[nodiscard]] std::vector<KnnLists> find_parts(Index k, const RunControl& control) const {
    std::vector<KnnLists> parts(searches_.size());
    run_on_devices(ranks_, rows(), control,
                   [&](const Device&, Communicator& ranks, const RunControl& own) {
                     const SearchPart part{ranks.rank(), ranks.size()};
                     const KnnSearch& search = of(part.number);
                     parts[static_cast<std::size_t>(part.number)] = search.find_part(part, k, own);
                   });
    return parts;
  }

  RankDevices ranks_;
  SharePays pays_;
  const SimilarityProblem& problem_;
  mutable std::vector<Lazy<KnnSearch>> searches_;
};

}  // namespace

std::unique_ptr<KnnSearch> RankedKnnJob::make_search(const SimilarityProblem& problem) const {
  return std::make_unique<RankedKnnSearch>(ranks_, pays_, problem);
}

}  // namespace likewise
