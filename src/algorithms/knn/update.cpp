// SPDX-License-Identifier: Apache-2.0
/// Neighbourhoods that grow: exactly what training on all would give.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/finite.h"
#include "algorithms/knn/biases.h"
#include "algorithms/knn/knn.h"
#include "algorithms/knn/similarity.h"
#include "backends/jobs/compare_rows.h"
#include "backends/jobs/device_jobs.h"
#include "retrieval/knn_lists.h"
#include "retrieval/nearest_rows.h"
#include "training/growth.h"

namespace likewise {
namespace {

using List = std::vector<Candidate>;

constexpr Offset kBlockNumbers = Offset{1} << 24;

/// Whether the similarity of two rows depends on nothing but the two.
[[nodiscard]] bool of_two_rows(const KnnParams& params, bool new_columns) {
  switch (params.similarity) {
    case Similarity::kTfidf:
    case Similarity::kBm25:
    case Similarity::kPearsonBaseline:
    case Similarity::kConditional:  // its two directions differ
    case Similarity::kRp3:
      return false;
    case Similarity::kLogLikelihood:
      return !new_columns;
    default:
      return true;
  }
}

/// The touched rows; where columns are centred, all rows of a touched column.
[[nodiscard]] std::vector<bool> changed_rows(const CsrView& rows, std::span<const Index> touched,
                                             std::span<const Index> touched_columns,
                                             bool by_column) {
  std::vector<bool> changed(static_cast<std::size_t>(rows.rows));
  for (const Index row : touched) changed[static_cast<std::size_t>(row)] = true;
  if (!by_column) return changed;
  std::vector<bool> columns(static_cast<std::size_t>(rows.cols));
  for (const Index column : touched_columns) columns[static_cast<std::size_t>(column)] = true;
  for (Index row = 0; row < rows.rows; ++row) {
    for (const Index column : rows.row_columns(row)) {
      if (columns[static_cast<std::size_t>(column)]) changed[static_cast<std::size_t>(row)] = true;
    }
  }
  return changed;
}

/// The lists of a model that grows.
class ListUpdate {
 public:
  ListUpdate(const SimilarityProblem& problem, const KnnSearch& search, Index k)
      : problem_(problem),
        search_(search),
        k_(static_cast<std::size_t>(k)),
        lists_(static_cast<std::size_t>(problem.rows().weights.rows)) {}

  /// The old lists; what they say of changed rows is dropped.
  void take_over(const KnnLists& old, const std::vector<Index>& places,
                 const std::vector<bool>& changed) {
    last_.assign(lists_.size(), {});
    full_.assign(lists_.size(), false);
    for (Index row = 0; row < old.size(); ++row) {
      const auto to = static_cast<std::size_t>(places[static_cast<std::size_t>(row)]);
      const auto near = old.rows_of(row);
      for (std::size_t e = 0; e < near.size(); ++e) {
        const Candidate one{old.similarities_of(row)[e], places[static_cast<std::size_t>(near[e])]};
        last_[to] = one;
        if (!changed[static_cast<std::size_t>(one.item)]) lists_[to].push_back(one);
      }
      full_[to] = near.size() == k_;
    }
  }

  /// Compares rows with all others: their own lists come anew, and where `offer` says so the others
  /// get offers.
  void search(const std::vector<Index>& rows, const std::vector<bool>& changed, bool offer,
              const RunControl& control) {
    const WeightedRows all = problem_.rows();
    const auto count = static_cast<Offset>(lists_.size());
    const auto batch = static_cast<std::size_t>(
        std::clamp<Offset>(kBlockNumbers / std::max<Offset>(1, count), 1, 4096));
    for (std::size_t at = 0; at < rows.size(); at += batch) {
      control.check();
      const std::span<const Index> part(rows.data() + at, std::min(batch, rows.size() - at));
      const Array<float> similar = compare_rows(all, search_, part);
      for (std::size_t q = 0; q < part.size(); ++q) {
        const float* const of_row = similar.data() + static_cast<Offset>(q) * count;
        List& own = lists_[static_cast<std::size_t>(part[q])];
        own.clear();
        for (Index other = 0; other < count; ++other) {
          if (of_row[other] == 0.0F || other == part[q]) continue;
          own.push_back({of_row[other], other});
          if (offer && !changed[static_cast<std::size_t>(other)]) {
            List& list = lists_[static_cast<std::size_t>(other)];
            list.push_back({of_row[other], part[q]});
            if (list.size() >= 2 * k_ + 64) keep_best(other, list);
          }
        }
        keep_best(part[q], own);
      }
      control.report("neighbours", static_cast<Offset>(at + part.size()), std::ssize(rows), "rows");
    }
  }

  /// Sorts the lists of rows that did not change. Returns those of which some that never made the
  /// list might now: a full list whose last entry fell behind the old one.
  [[nodiscard]] std::vector<Index> settle(const std::vector<bool>& changed) {
    std::vector<Index> open;
    for (std::size_t row = 0; row < lists_.size(); ++row) {
      if (changed[row]) continue;
      List& list = lists_[row];
      keep_best(static_cast<Index>(row), list);
      if (!full_[row]) continue;
      // As similar as the old last one, another row may have fewer common entries than one that
      // never made the list.
      if (list.size() < k_ || last_[row].score > list.back().score ||
          (last_[row].score == list.back().score && last_[row].item != list.back().item)) {
        open.push_back(static_cast<Index>(row));
      }
    }
    return open;
  }

  [[nodiscard]] KnnLists packed() const {
    return pack_knn_lists(static_cast<Index>(lists_.size()), [&](Index row) {
      return std::span<const Candidate>(lists_[static_cast<std::size_t>(row)]);
    });
  }

 private:
  void keep_best(Index row, List& list) const {
    const CsrView rows = problem_.rows().weights;
    keep_nearest(rows.row_columns(row), rows, k_, list);
  }

  const SimilarityProblem& problem_;
  const KnnSearch& search_;
  std::size_t k_;
  std::vector<List> lists_;
  std::vector<Candidate> last_;  ///< of the old list
  std::vector<bool> full_;       ///< whether the old list had all its k
};

}  // namespace

Refined update_knn(const KnnParams& params, const UpdateTask& task) {
  const Growth& growth = task.growth;
  const bool of_users = params.side == Side::kUsers;
  const CsrView history = growth.history.view();
  const UnionOfIds& rows = growth.ids(params.side);
  const auto columns_with_entries = [&](const CsrMatrix& matrix) {
    return RowsWithEntries(matrix.view()).count(other(params.side));
  };
  check_values(history, params);
  const auto refined = [&](Knn learned, Index searched) -> Refined {
    return {std::move(learned), of_users ? searched : 0, of_users ? 0 : searched};
  };
  const auto train_anew = [&] {
    Knn learned = train_knn(history, params, task.device, task.control);
    const Index searched = learned.neighbours.size();
    return refined(std::move(learned), searched);
  };
  const bool local = of_two_rows(params, columns_with_entries(growth.history) !=
                                             columns_with_entries(task.model.history)) &&
                     std::ranges::is_sorted(rows.first);
  if (!local) return train_anew();
  Biases biases = needed_biases(history, params, task.control);
  const SimilarityProblem problem(history, params, biases);
  const std::vector<bool> changed = changed_rows(
      problem.rows().weights, growth.touched(params.side), growth.touched(other(params.side)),
      params.similarity == Similarity::kAdjustedCosine && params.centring != params.side);
  const std::vector<Index> first = rows_with(changed);
  if (2 * first.size() > changed.size()) return train_anew();
  const auto search = job<KnnJob>(task.device).make_search(problem);
  ListUpdate update(problem, *search, params.neighbours);
  update.take_over(task.model.knn()->neighbours, rows.first, changed);
  update.search(first, changed, true, task.control);
  const std::vector<Index> open = update.settle(changed);
  update.search(open, changed, false, task.control);
  Knn learned{update.packed(), std::move(biases)};
  check_similarities(learned.neighbours, params.side);
  return refined(std::move(learned), static_cast<Index>(first.size() + open.size()));
}

}  // namespace likewise
