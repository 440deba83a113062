// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/top_k/top_k_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "backends/cpu/kernels/exact_dot.h"

namespace likewise {
namespace {

constexpr Index kWidth = kernels::kPanelItems;

// Most hits fall into the first panels, where a word a panel tells what is excluded; 8192 places
// cost a query 1 KiB. Hits further back look into the excluded row.
constexpr Index kMarkedPanels = 128;

// A query that is done is still passed over panel by panel; leaving the block may wait a little.
constexpr Index kDropEvery = 4;

constexpr std::uint64_t bit(Index place) { return std::uint64_t{1} << place; }

/// |q| norm + bias, rounded up.
float largest_score(float norm, const ScoreBound& bound) {
  const float product = norm * bound.norm;
  return product + bound.bias + 0x1p-21F * (product + bound.abs_bias);
}

}  // namespace

float exact_score(const ItemTable& table, const float* query, Index item) {
  const double bias =
      table.item_bias.empty() ? 0.0 : double{table.item_bias[static_cast<std::size_t>(item)]};
  const Index length = padded_stride(table.items.cols);
  return static_cast<float>(kernels::exact_dot(query, table.items.row(item), length) + bias);
}

std::vector<std::uint64_t> open_places(const ItemPanels& panels,
                                       std::span<const std::uint8_t> allowed) {
  std::vector<std::uint64_t> open(static_cast<std::size_t>(panels.panels()));
  for (Index i = 0; i < panels.size(); ++i) {
    const bool may = allowed.empty() || allowed[static_cast<std::size_t>(panels.item(i))] != 0;
    if (may) open[static_cast<std::size_t>(i / kWidth)] |= bit(i % kWidth);
  }
  return open;
}

TopKSearch::TopKSearch(const TopKTask& task, Index first, Index count, Index k)
    : task_(task),
      panels_(*task.table.panels),
      first_(first),
      marked_panels_(std::min(kMarkedPanels, panels_.panels())),
      queries_(static_cast<std::size_t>(count)) {
  const bool filtered = task.filter.excluded.rows > 0;
  if (filtered) marks_.resize(static_cast<std::size_t>(Offset{count} * marked_panels_));
  for (Index q = 0; q < count; ++q) {
    Query& one = query(q);
    one.row = task.queries.row(first + q);
    const float norm = norm_above(one.row, task.queries.cols);
    if (!std::isfinite(norm)) {
      throw Error(ErrorKind::kInvalidArgument, fmt::format("query {} is not finite", first + q));
    }
    norms_[static_cast<std::size_t>(q)] = norm;
    lowest_[static_cast<std::size_t>(q)] = -std::numeric_limits<float>::infinity();
    one.best.reset(static_cast<std::size_t>(k));
    if (filtered) mark_excluded(q);
    active_.push_back(q);
  }
  estimator_ = task.table.estimates->load(task.queries.slice(first, count));
}

void TopKSearch::mark_excluded(Index q) {
  query(q).excluded = task_.filter.excluded.row_columns(first_ + q);
  std::uint64_t* marks = marks_.data() + Offset{q} * marked_panels_;
  for (const Index item : query(q).excluded) {
    const Index place = panels_.position(item);
    if (place >= 0 && place < marked_panels_ * kWidth) marks[place / kWidth] |= bit(place % kWidth);
  }
}

void TopKSearch::run(TopKResult& result) {
  for (Index panel = 0; panel < panels_.panels(); ++panel) {
    drop_finished(panel);
    if (active_.empty()) break;
    select(panel);
    scan(panel);
  }
  for (Index q = 0; q < static_cast<Index>(queries_.size()); ++q) {
    write_answer(query(q).best.finish(), first_ + q, result);
  }
  if (task_.counts != nullptr) {
    task_.counts->scanned += scanned_;
    task_.counts->rescored += rescored_;
  }
}

/// A true score below this cannot be an answer: its rounded value is below the worst one kept.
void TopKSearch::update_threshold(Index q) {
  const TopList& best = query(q).best;
  if (!best.full()) return;
  const float worst = best.worst().score;
  lowest_[static_cast<std::size_t>(q)] =
      worst - (std::abs(worst) * 0x1p-22F + std::numeric_limits<float>::min());
}

void TopKSearch::drop_finished(Index panel) {
  if (panel % kDropEvery != 0) return;
  const ScoreBound& rest = panels_.rest_bound(panel);
  std::erase_if(active_, [&](Index q) {
    const auto at = static_cast<std::size_t>(q);
    return largest_score(norms_[at], rest) < lowest_[at];
  });
}

void TopKSearch::select(Index panel) {
  const ScoreBound& bound = panels_.panel_bound(panel);
  selected_.resize(active_.size());
  std::size_t count = 0;
  for (const Index q : active_) {
    const auto at = static_cast<std::size_t>(q);
    thresholds_[count] = lowest_[at];
    selected_[count] = q;
    count += largest_score(norms_[at], bound) >= lowest_[at] ? 1 : 0;
  }
  selected_.resize(count);
}

void TopKSearch::scan(Index panel) {
  estimator_->find(panel, selected_, thresholds_.data(), hits_.data());
  scanned_ += static_cast<Offset>(selected_.size()) * panels_.filled(panel);
  const std::uint64_t open = task_.open[static_cast<std::size_t>(panel)];
  for (std::size_t s = 0; s < selected_.size(); ++s) {
    const std::uint64_t hits = hits_[s] & open & ~excluded_places(selected_[s], panel);
    if (hits != 0) collect(selected_[s], panel, hits);
  }
}

std::uint64_t TopKSearch::excluded_places(Index q, Index panel) const {
  if (marks_.empty() || panel >= marked_panels_) return 0;
  return marks_[static_cast<std::size_t>(Offset{q} * marked_panels_ + panel)];
}

void TopKSearch::collect(Index q, Index panel, std::uint64_t hits) {
  Query& one = query(q);
  for (; hits != 0; hits &= hits - 1) {
    const Index item = panels_.item(panel * kWidth + std::countr_zero(hits));
    if (panel >= marked_panels_ &&
        std::binary_search(one.excluded.begin(), one.excluded.end(), item)) {
      continue;
    }
    ++rescored_;
    one.best.offer({exact_score(task_.table, one.row, item), item});
  }
  update_threshold(q);
}

}  // namespace likewise
