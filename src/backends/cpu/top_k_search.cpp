// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/top_k_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace likewise {

float exact_score(const TopKTask& task, const float* query, Index item) {
  const double bias =
      task.item_bias.empty() ? 0.0 : double{task.item_bias[static_cast<std::size_t>(item)]};
  return static_cast<float>(
      kernels::exact_dot(query, task.items.row(item), padded_stride(task.items.cols)) + bias);
}

TopKSearch::TopKSearch(const TopKTask& task, Index first, Index count, Index k)
    : task_(task),
      k_(static_cast<std::size_t>(k)),
      // f + 1 steps of at most two roundings of 2^-24 each; twice that to be safe.
      rounding_(static_cast<float>(task.items.cols + 4) * 0x1p-22F),
      queries_(static_cast<std::size_t>(count)) {
  for (Index q = 0; q < count; ++q) {
    Query& query = queries_[static_cast<std::size_t>(q)];
    query.number = first + q;
    query.row = task.queries.row(first + q);
    query.norm = norm_above(query.row, task.queries.cols);
    if (task.filter.excluded.rows > 0) query.excluded = task.filter.excluded.row_columns(first + q);
    query.heap.reserve(k_);
    active_.push_back(q);
  }
}

void TopKSearch::run(TopKResult& result) {
  for (Index panel = 0; panel < task_.packed.panels() && !active_.empty(); ++panel) {
    drop_finished(panel);
    select(panel);
    scan(panel);
  }
  for (Query& query : queries_) {
    std::sort(query.heap.begin(), query.heap.end(), before);
    write_answer(query.heap, query.number, result);
  }
  if (task_.counts != nullptr) {
    task_.counts->scanned += scanned_;
    task_.counts->rescored += rescored_;
  }
}

/// The threshold less the largest error that an estimate of an item within `bound` can have.
float TopKSearch::lowered_threshold(const Query& query, const ScoreBound& bound) const {
  if (query.heap.size() < k_) return -std::numeric_limits<float>::infinity();
  const float worst = query.heap.front().score;
  const float scale = query.norm * bound.norm + bound.abs_bias + std::abs(worst);
  return worst - (rounding_ * scale + std::numeric_limits<float>::min());
}

void TopKSearch::drop_finished(Index panel) {
  const ScoreBound& rest = task_.packed.rest_bound(panel);
  std::erase_if(active_, [&](Index q) {
    const Query& query = queries_[static_cast<std::size_t>(q)];
    return query.norm * rest.norm + rest.bias < lowered_threshold(query, rest);
  });
}

void TopKSearch::select(Index panel) {
  const ScoreBound& bound = task_.packed.panel_bound(panel);
  selected_.clear();
  for (const Index q : active_) {
    const Query& query = queries_[static_cast<std::size_t>(q)];
    const float threshold = lowered_threshold(query, bound);
    if (query.norm * bound.norm + bound.bias < threshold) continue;
    rows_[selected_.size()] = query.row;
    thresholds_[selected_.size()] = threshold;
    selected_.push_back(q);
  }
}

void TopKSearch::scan(Index panel) {
  const auto count = static_cast<Index>(selected_.size());
  kernels::find_hits(task_.packed.panel(panel), task_.packed.bias(panel), task_.items.cols,
                     rows_.data(), thresholds_.data(), count, hits_.data());
  scanned_ += Offset{count} * kernels::kPanelItems;
  const std::uint64_t filled = task_.packed.filled(panel);
  for (std::size_t s = 0; s < selected_.size(); ++s) {
    const std::uint64_t hits = hits_[s] & filled;
    if (hits != 0) collect(queries_[static_cast<std::size_t>(selected_[s])], panel, hits);
  }
}

void TopKSearch::collect(Query& query, Index panel, std::uint64_t hits) {
  for (; hits != 0; hits &= hits - 1) {
    const Index item = task_.packed.item(panel * kernels::kPanelItems + std::countr_zero(hits));
    if (!answers(query, item)) continue;
    ++rescored_;
    offer(query, {exact_score(task_, query.row, item), item});
  }
}

bool TopKSearch::answers(const Query& query, Index item) const {
  const auto& allowed = task_.filter.allowed;
  if (!allowed.empty() && allowed[static_cast<std::size_t>(item)] == 0) return false;
  return !std::binary_search(query.excluded.begin(), query.excluded.end(), item);
}

void TopKSearch::offer(Query& query, const Candidate& candidate) const {
  if (query.heap.size() == k_) {
    if (!before(candidate, query.heap.front())) return;
    std::pop_heap(query.heap.begin(), query.heap.end(), before);
    query.heap.pop_back();
  }
  query.heap.push_back(candidate);
  std::push_heap(query.heap.begin(), query.heap.end(), before);
}

}  // namespace likewise
