// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/top_k/top_k_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/linalg/exact_dot.h"
#include "core/system/parallel.h"
#include "likewise/matrix.h"

namespace likewise {
namespace {

using kernels::kPanelItems;

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

// Seen from the centre every number is rounded once, by 2^-24 of itself; distances differ by no
// more than this share of the two lengths. Twice that: room for the rounding of lengths.
constexpr double kCentring = 0x1p-23;

/// What an item within `reach` of a query has at least as q . y - |y|^2 / 2, rounded down;
/// `longest` is the largest |y|. math.md, "Distances".
float least_estimate(double length, double reach, double longest) {
  const double widened = reach + kCentring * (length + longest);
  const double own = length * length;
  const double others = widened * widened;
  return static_cast<float>(0.5 * (own - others) - 0x1p-23 * (own + others));
}

}  // namespace

float exact_score(const ItemTable& table, Index item, double sum) {
  if (table.score == ScoreKind::kSquaredDistance) return -static_cast<float>(sum);
  const double bias =
      table.item_bias.empty() ? 0.0 : double{table.item_bias[static_cast<std::size_t>(item)]};
  return static_cast<float>(sum + bias);
}

std::vector<std::uint64_t> open_places(const ItemPanels& panels,
                                       std::span<const std::uint8_t> allowed) {
  std::vector<std::uint64_t> open(static_cast<std::size_t>(panels.panels()));
  for (Index i = 0; i < panels.size(); ++i) {
    const bool may = allowed.empty() || allowed[static_cast<std::size_t>(panels.item(i))] != 0;
    if (may) open[static_cast<std::size_t>(i / kPanelItems)] |= bit(i % kPanelItems);
  }
  return open;
}

std::vector<Index> query_order(const ItemTable& table, const MatrixView& queries) {
  std::vector<double> lengths(static_cast<std::size_t>(queries.rows));
  const CentredRows centred(queries, table.centre);
  parallel_blocks(queries.rows, 256, [&](Offset begin, Offset end, Offset) {
    std::vector<float> room;
    for (Offset q = begin; q < end; ++q) {
      lengths[static_cast<std::size_t>(q)] =
          norm_of(centred.row(static_cast<Index>(q), room), queries.cols);
    }
  });
  std::vector<Index> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  if (table.score == ScoreKind::kSquaredDistance) {
    std::ranges::stable_sort(order, {},
                             [&](Index q) { return lengths[static_cast<std::size_t>(q)]; });
  }
  return order;
}

TopKSearch::TopKSearch(const TopKTask& task, Index first, Index count, Index k)
    : task_(task),
      panels_(*task.table.panels),
      first_(first),
      marked_panels_(std::min(kMarkedPanels, panels_.panels())),
      queries_(static_cast<std::size_t>(count)),
      distances_(task.table.score == ScoreKind::kSquaredDistance) {
  if (task.filter.excluded.rows > 0) {
    marks_.resize(static_cast<std::size_t>(Offset{count} * marked_panels_));
  }
  for (Index q = 0; q < count; ++q) add_query(q, k);
  estimator_ = task.table.estimates->load(load_queries(count));
}

void TopKSearch::add_query(Index q, Index k) {
  const auto at = static_cast<std::size_t>(q);
  Query& one = query(q);
  one.row = task_.queries.row(number(q));
  norms_[at] = norm_above(one.row, task_.queries.cols);
  lowest_[at] = -std::numeric_limits<float>::infinity();
  reach_[at] = std::numeric_limits<double>::infinity();
  one.best.reset(static_cast<std::size_t>(k));
  if (task_.filter.excluded.rows > 0) mark_excluded(q);
  active_.push_back(q);
}

/// As estimates want them.
MatrixView TopKSearch::load_queries(Index count) {
  if (!distances_) return task_.queries.slice(first_, count);
  const CentredRows all(task_.queries, task_.table.centre);
  centred_ = Matrix(count, task_.queries.cols);
  std::vector<float> room;
  for (Index q = 0; q < count; ++q) {
    const float* const row = all.row(number(q), room);
    std::copy_n(row, centred_.cols(), centred_.row(q));
    lengths_[static_cast<std::size_t>(q)] = norm_of(row, centred_.cols());
  }
  return centred_.view();
}

void TopKSearch::mark_excluded(Index q) {
  query(q).excluded = task_.filter.excluded.row_columns(number(q));
  std::uint64_t* marks = marks_.data() + Offset{q} * marked_panels_;
  for (const Index item : query(q).excluded) {
    const Index place = panels_.position(item);
    if (place >= 0 && place < marked_panels_ * kPanelItems)
      marks[place / kPanelItems] |= bit(place % kPanelItems);
  }
}

void TopKSearch::run(TopKResult& result) {
  PanelWalk walk = this->walk();
  for (Index step = 0; !walk.done(); ++step) {
    if (step % kDropEvery == 0) drop_finished(walk);
    if (active_.empty() || walk.done()) break;
    const Index panel = walk.next();
    select(panel);
    scan(panel);
  }
  for (Index q = 0; q < static_cast<Index>(queries_.size()); ++q) {
    write_answer(query(q).best.finish(), number(q), result);
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
  const float lowest = worst - (std::abs(worst) * 0x1p-22F + std::numeric_limits<float>::min());
  lowest_[static_cast<std::size_t>(q)] = lowest;
  if (distances_) reach_[static_cast<std::size_t>(q)] = std::sqrt(-double{lowest});
}

/// Distances: from the panel of items as long as the block's middle query.
PanelWalk TopKSearch::walk() const {
  if (!distances_ || panels_.panels() == 0) return {0, panels_.panels()};
  return {panels_.panel_at(lengths_[queries_.size() / 2]), panels_.panels()};
}

bool TopKSearch::may_win(Index q, const ScoreBound& bound) const {
  const auto at = static_cast<std::size_t>(q);
  return largest_score(norms_[at], bound) >= lowest_[at];
}

bool TopKSearch::may_win(Index q, const NormRange& norms) const {
  const auto at = static_cast<std::size_t>(q);
  const double gap = std::max(lengths_[at] - norms.largest, norms.least - lengths_[at]);
  return gap <= reach_[at] + kCentring * (lengths_[at] + norms.largest);
}

bool TopKSearch::may_win_in(Index q, Index panel) const {
  return distances_ ? may_win(q, panels_.norms(panel)) : may_win(q, panels_.panel_bound(panel));
}

void TopKSearch::drop_finished(PanelWalk& walk) {
  if (!distances_) {
    const ScoreBound& rest = panels_.rest_bound(walk.from());
    std::erase_if(active_, [&](Index q) { return !may_win(q, rest); });
    return;
  }
  bool lower = false;
  bool upper = false;
  std::erase_if(active_, [&](Index q) {
    const bool in_lower = walk.below() > 0 && may_win(q, panels_.norms_before(walk.below()));
    const bool in_upper =
        walk.from() < panels_.panels() && may_win(q, panels_.norms_from(walk.from()));
    lower |= in_lower;
    upper |= in_upper;
    return !in_lower && !in_upper;
  });
  if (!lower) walk.leave_lower();
  if (!upper) walk.leave_upper();
}

float TopKSearch::threshold(Index q, Index panel) const {
  const auto at = static_cast<std::size_t>(q);
  return distances_ ? least_estimate(lengths_[at], reach_[at], panels_.norms(panel).largest)
                    : lowest_[at];
}

void TopKSearch::select(Index panel) {
  selected_.resize(active_.size());
  std::size_t count = 0;
  for (const Index q : active_) {
    thresholds_[count] = threshold(q, panel);
    selected_[count] = q;
    count += may_win_in(q, panel) ? 1 : 0;
  }
  selected_.resize(count);
}

void TopKSearch::scan(Index panel) {
  estimator_->find(panel, selected_, thresholds_.data(), hits_.data());
  scanned_ += static_cast<Offset>(selected_.size()) * panels_.filled(panel);
  const std::uint64_t open = task_.open[static_cast<std::size_t>(panel)];
  std::uint64_t any = 0;
  for (std::size_t s = 0; s < selected_.size(); ++s) {
    hits_[s] &= open & ~excluded_places(selected_[s], panel);
    any |= hits_[s];
  }
  bring(panel, any);
  for (std::size_t s = 0; s < selected_.size(); ++s) {
    gather(selected_[s], panel, hits_[s]);
  }
  offer_gathered();
}

/// Rows of items lie anywhere: they come to the cache side by side, not one after the other.
void TopKSearch::bring(Index panel, std::uint64_t places) const {
  constexpr Index kLine = 64 / sizeof(float);
  constexpr Index kMostLines = 16;  // the processor sees the rest coming
  const Index width = std::min(task_.table.items.cols, kMostLines * kLine);
  for (; places != 0; places &= places - 1) {
    const float* const row =
        task_.table.items.row(panels_.item(panel * kPanelItems + std::countr_zero(places)));
    for (Index j = 0; j < width; j += kLine) __builtin_prefetch(row + j);
  }
}

std::uint64_t TopKSearch::excluded_places(Index q, Index panel) const {
  if (marks_.empty() || panel >= marked_panels_) return 0;
  return marks_[static_cast<std::size_t>(Offset{q} * marked_panels_ + panel)];
}

void TopKSearch::gather(Index q, Index panel, std::uint64_t hits) {
  const Query& one = query(q);
  for (; hits != 0; hits &= hits - 1) {
    const Index item = panels_.item(panel * kPanelItems + std::countr_zero(hits));
    if (panel >= marked_panels_ &&
        std::binary_search(one.excluded.begin(), one.excluded.end(), item)) {
      continue;
    }
    gathered_.query.push_back(q);
    gathered_.item.push_back(item);
    gathered_.query_row.push_back(one.row);
    gathered_.item_row.push_back(task_.table.items.row(item));
  }
}

void TopKSearch::offer_gathered() {
  const std::size_t count = gathered_.query.size();
  gathered_.sum.resize(count);
  const auto score = distances_ ? kernels::exact_squared_distance_pairs : kernels::exact_dot_pairs;
  score(gathered_.query_row.data(), gathered_.item_row.data(),
        padded_stride(task_.table.items.cols), static_cast<Index>(count), gathered_.sum.data());
  for (std::size_t h = 0; h < count; ++h) {
    const Index q = gathered_.query[h];
    const Index item = gathered_.item[h];
    query(q).best.offer({exact_score(task_.table, item, gathered_.sum[h]), item});
    if (h + 1 == count || gathered_.query[h + 1] != q) update_threshold(q);
  }
  rescored_ += static_cast<Offset>(count);
  gathered_.query.clear();
  gathered_.item.clear();
  gathered_.query_row.clear();
  gathered_.item_row.clear();
}

}  // namespace likewise
