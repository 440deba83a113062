// SPDX-License-Identifier: Apache-2.0
/// BPR by the definitions, in double precision: the oracle for every other backend. Nothing here is
/// fast on purpose; what is done at the same time elsewhere comes one after the other.
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/bpr/cells.h"
#include "backends/reference/jobs.h"

namespace likewise {
namespace {

/// Factors and bias of a row, in double precision.
struct BprRow {
  std::vector<double> x;
  double bias = 0.0;
};

class ReferenceBprSolver final : public BprSolver {
 public:
  ReferenceBprSolver(const CsrView& likes, const BprParams& params, Factors start,
                     const BprWhole& whole)
      : params_(params),
        grid_(make_bpr_grid(likes, params, whole.item_counts)),
        factors_(std::move(start)) {
    if (params.negatives == BprNegatives::kPopular) popular_ = popular_items(grid_);
    if (whole.likes != nullptr) known_ = cut_like(grid_, *whole.likes);
    if (!whole.changes.empty()) changes_ = in_grid_order(whole.changes, grid_);
    load(factors_.users, grid_.users, users_);
    load(factors_.items, grid_.items, items_);
    for (std::size_t at = 0; params.biases && at < items_.size(); ++at) {
      items_[at].bias = factors_.item_bias[grid_.items.row[static_cast<Offset>(at)]];
    }
  }

  double epoch(int number, const RunControl& control) override {
    double losses = 0.0;
    const std::vector<StripePair> pairs = stripe_pairs(grid_.stripes, number);
    for (Index turn = 0; turn < grid_.stripes; ++turn) {
      control.check();
      for (std::size_t m = 0; m < pairs.size(); ++m) {
        for (const BprCell& cell : cells_of(grid_, pairs[m], static_cast<Index>(m), turn)) {
          losses += take(cell, number);
        }
      }
    }
    store(users_, grid_.users, factors_.users);
    store(items_, grid_.items, factors_.items);
    for (std::size_t at = 0; params_.biases && at < items_.size(); ++at) {
      factors_.item_bias[grid_.items.row[static_cast<Offset>(at)]] =
          static_cast<float>(items_[at].bias);
    }
    return losses;
  }

  const Factors& factors() override { return factors_; }
  Factors take_factors() override { return std::move(factors_); }

 private:
  [[nodiscard]] const SgdBlocks& known_likes() const { return known_ ? *known_ : grid_; }
  double take(const BprCell& cell, int epoch) {
    const NegativeRange range = negatives_of(params_, grid_, cell, popular_);
    if (range.first == range.last) return 0.0;
    CounterRandom random = cell_random(params_, grid_, epoch, cell);
    double losses = 0.0;
    for (const SgdEntry& like : grid_.block(cell.users, cell.positives)) {
      std::vector<SgdEntry> known;
      for (const SgdEntry& one : known_likes().block(cell.users, cell.negatives)) {
        if (one.user == like.user) known.push_back(one);
      }
      const Index negative = draw_negative(range, known, random);
      if (negative < 0) continue;
      losses += step(users_[static_cast<std::size_t>(like.user)],
                     items_[static_cast<std::size_t>(like.item)],
                     items_[static_cast<std::size_t>(negative)],
                     changes_.empty() || changes_[static_cast<std::size_t>(negative)] != 0);
    }
    return losses;
  }

  double step(BprRow& u, BprRow& i, BprRow& j, bool moves_negative) const {
    double margin = i.bias - j.bias;
    for (std::size_t c = 0; c < u.x.size(); ++c) margin += u.x[c] * (i.x[c] - j.x[c]);
    const double wrong = 1.0 / (1.0 + std::exp(margin));
    const double rate = params_.learning_rate;
    const double lambda = params_.regularization;
    for (std::size_t c = 0; c < u.x.size(); ++c) {
      const double x = u.x[c];
      u.x[c] += rate * (wrong * (i.x[c] - j.x[c]) - lambda * x);
      i.x[c] += rate * (wrong * x - lambda * i.x[c]);
      if (moves_negative) j.x[c] += rate * (-wrong * x - lambda * j.x[c]);
    }
    if (params_.biases) {
      i.bias += rate * (wrong - lambda * i.bias);
      if (moves_negative) j.bias += rate * (-wrong - lambda * j.bias);
    }
    return std::log1p(std::exp(-margin));
  }

  static void load(const Matrix& from, const SgdSide& order, std::vector<BprRow>& rows) {
    for (const Index r : order.row) {
      const std::span<const float> x = from.row_span(r);
      rows.push_back({std::vector<double>(x.begin(), x.end()), 0.0});
    }
  }
  static void store(const std::vector<BprRow>& rows, const SgdSide& order, Matrix& to) {
    for (std::size_t at = 0; at < rows.size(); ++at) {
      const std::span<float> x = to.row_span(order.row[static_cast<Offset>(at)]);
      for (std::size_t c = 0; c < x.size(); ++c) x[c] = static_cast<float>(rows[at].x[c]);
    }
  }

  BprParams params_;
  SgdGrid grid_;
  std::optional<SgdBlocks> known_;     ///< what users like, where that is more than the grid has
  std::vector<std::uint8_t> changes_;  ///< by new number; empty: all items do
  Factors factors_;
  std::vector<PopularItems> popular_;
  std::vector<BprRow> users_;
  std::vector<BprRow> items_;
};

}  // namespace

std::unique_ptr<BprSolver> make_reference_bpr_solver(const CsrView& likes, const BprParams& params,
                                                     Factors start, const BprWhole& whole) {
  return std::make_unique<ReferenceBprSolver>(likes, params, std::move(start), whole);
}

}  // namespace likewise
