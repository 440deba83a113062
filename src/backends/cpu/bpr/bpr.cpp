// SPDX-License-Identifier: Apache-2.0
/// BPR on the CPU. The tables are kept in the order of the grid, so that a block's rows lie
/// together.
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/bpr/cells.h"
#include "backends/cpu/jobs.h"
#include "backends/cpu/kernels/bpr_steps.h"
#include "core/linalg/row_copies.h"
#include "core/system/parallel.h"

namespace likewise {
namespace {

class CpuBprSolver final : public BprSolver {
 public:
  CpuBprSolver(const CsrView& likes, const BprParams& params, Factors start, const BprWhole& whole)
      : params_(params),
        grid_(make_bpr_grid(likes, params, whole.item_counts)),
        factors_(std::move(start)),
        users_(gather_rows(factors_.users, grid_.users.row.span())),
        items_(gather_rows(factors_.items, grid_.items.row.span())) {
    if (params.negatives == BprNegatives::kPopular) popular_ = popular_items(grid_);
    if (whole.likes != nullptr) known_ = cut_like(grid_, *whole.likes);
    if (!whole.changes.empty()) changes_ = in_grid_order(whole.changes, grid_);
    if (!params.biases) return;
    bias_ = Array<float>(likes.cols);
    for (Index at = 0; at < likes.cols; ++at) bias_[at] = factors_.item_bias[grid_.items.row[at]];
  }

  double epoch(int number, const RunControl& control) override {
    fresh_ = false;
    const std::vector<StripePair> pairs = stripe_pairs(grid_.stripes, number);
    const Offset count = std::ssize(pairs);
    std::vector<double> losses(static_cast<std::size_t>(count * grid_.stripes));
    const auto meet = [&](Offset m, Index turn) {
      double& loss = losses[static_cast<std::size_t>(turn * count + m)];
      const StripePair& pair = pairs[static_cast<std::size_t>(m)];
      for (const BprCell& cell : cells_of(grid_, pair, static_cast<Index>(m), turn)) {
        loss += take(cell, number);
      }
    };
    if (params_.order == BprOrder::kRacing) {
      parallel_for(count * grid_.stripes, 1, [&](Offset at) {
        control.check();
        meet(at % count, static_cast<Index>(at / count));
      });
    } else {
      for (Index turn = 0; turn < grid_.stripes; ++turn) {
        control.check();
        parallel_for(count, 1, [&](Offset m) { meet(m, turn); });
      }
    }
    return std::accumulate(losses.begin(), losses.end(), 0.0);
  }

  const Factors& factors() override {
    if (fresh_) return factors_;
    scatter_rows(users_, grid_.users.row.span(), factors_.users);
    scatter_rows(items_, grid_.items.row.span(), factors_.items);
    for (Offset at = 0; at < bias_.size(); ++at) {
      factors_.item_bias[grid_.items.row[at]] = bias_[at];
    }
    fresh_ = true;
    return factors_;
  }
  Factors take_factors() override {
    (void)factors();
    return std::move(factors_);
  }

 private:
  [[nodiscard]] const SgdBlocks& known_likes() const { return known_ ? *known_ : grid_; }
  double take(const BprCell& cell, int epoch) {
    kernels::BprRun run;
    run.likes = grid_.block(cell.users, cell.positives);
    run.known = known_likes().block(cell.users, cell.negatives);
    run.negatives = negatives_of(params_, grid_, cell, popular_);
    if (run.negatives.first == run.negatives.last) return 0.0;
    run.users = users_.data();
    run.items = items_.data();
    run.item_bias = bias_.empty() ? nullptr : bias_.data();
    run.changes = changes_.empty() ? nullptr : changes_.data();
    run.stride = users_.stride();
    run.rate = static_cast<float>(params_.learning_rate);
    run.decay = static_cast<float>(params_.regularization);
    return kernels::take_bpr_steps(run, cell_random(params_, grid_, epoch, cell));
  }

  BprParams params_;
  SgdGrid grid_;
  std::optional<SgdBlocks> known_;     ///< what users like, where that is more than the grid has
  std::vector<std::uint8_t> changes_;  ///< by new number; empty: all items do
  Factors factors_;
  Matrix users_;
  Matrix items_;
  Array<float> bias_;
  std::vector<PopularItems> popular_;
  bool fresh_ = true;  // factors_ is what the tables hold
};

}  // namespace

std::unique_ptr<BprSolver> make_cpu_bpr_solver(const CsrView& likes, const BprParams& params,
                                               Factors start, const BprWhole& whole) {
  return std::make_unique<CpuBprSolver>(likes, params, std::move(start), whole);
}

}  // namespace likewise
