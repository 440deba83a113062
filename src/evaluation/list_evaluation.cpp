// SPDX-License-Identifier: Apache-2.0
#include "evaluation/list_evaluation.h"

#include <algorithm>
#include <limits>

#include "core/system/parallel.h"

namespace likewise {
namespace {

constexpr Index kNowhere = std::numeric_limits<Index>::max();
constexpr Offset kUsersPerTask = 64;

/// The places of the answers of one query.
std::span<const Index> list_of(const TopKResult& lists, Offset query) {
  return {lists.items.data() + query * lists.k, static_cast<std::size_t>(lists.counts[query])};
}

}  // namespace

ListEvaluation::ListEvaluation(const EvaluationPlan& plan, const Relevance& relevance,
                               std::span<const float> popularity, Index catalogue, bool per_user)
    : plan_(plan),
      relevance_(relevance),
      popularity_(popularity),
      per_user_(per_user),
      means_(plan.columns.size(), per_user),
      best_place_(plan.coverage ? static_cast<std::size_t>(catalogue) : 0, kNowhere) {}

void ListEvaluation::measure(const TopKResult& lists, Offset query, std::vector<std::uint8_t>& hits,
                             std::span<double> values) const {
  const auto items = list_of(lists, query);
  const auto relevant = relevance_.of(done_ + query);
  hits.resize(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    hits[i] = std::binary_search(relevant.begin(), relevant.end(), items[i]) ? 1 : 0;
  }
  const RankedList list{items, hits, static_cast<Offset>(relevant.size()), popularity_};
  for (std::size_t c = 0; c < values.size(); ++c) {
    values[c] = plan_.columns[c].of_list(list, plan_.columns[c].k);
  }
}

void ListEvaluation::note_places(const TopKResult& lists) {
  for (Offset query = 0; query < lists.counts.size(); ++query) {
    const auto items = list_of(lists, query);
    for (std::size_t i = 0; i < items.size(); ++i) {
      Index& best = best_place_[static_cast<std::size_t>(items[i])];
      best = std::min(best, static_cast<Index>(i));
    }
  }
}

void ListEvaluation::add(const TopKResult& lists) {
  const Offset queries = lists.counts.size();
  const std::size_t columns = plan_.columns.size();
  std::vector<double> values(static_cast<std::size_t>(queries) * columns);
  parallel_blocks(queries, kUsersPerTask, [&](Offset begin, Offset end, Offset) {
    std::vector<std::uint8_t> hits;
    for (Offset q = begin; q < end; ++q) {
      measure(lists, q, hits,
              std::span(values).subspan(static_cast<std::size_t>(q) * columns, columns));
    }
  });
  for (Offset q = 0; q < queries; ++q) {
    means_.add(relevance_.users[static_cast<std::size_t>(done_ + q)],
               std::span(values).subspan(static_cast<std::size_t>(q) * columns, columns));
  }
  if (plan_.coverage) note_places(lists);
  done_ += queries;
}

void ListEvaluation::finish(EvaluationReport& report) {
  means_.end_user();
  for (std::size_t c = 0; c < plan_.columns.size(); ++c) {
    report.metrics[plan_.columns[c].key] = means_.mean(c);
    if (per_user_) report.per_user[plan_.columns[c].key] = means_.values(c);
  }
  if (!plan_.coverage) return;
  // coverage@k = items at a place <= k of any list / items of the catalogue
  for (const Index k : plan_.k) {
    const auto covered = std::count_if(best_place_.begin(), best_place_.end(),
                                       [&](Index place) { return place < k; });
    report.metrics[metric_key("coverage", k)] =
        static_cast<double>(covered) / static_cast<double>(best_place_.size());
  }
}

}  // namespace likewise
