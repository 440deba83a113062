// SPDX-License-Identifier: Apache-2.0
/// SGD on the CPU. The tables are kept in the order of the grid, so that a block's rows lie
/// together.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "backends/cpu/jobs.h"
#include "backends/cpu/kernels/als_vectors.h"
#include "backends/cpu/kernels/sgd_steps.h"
#include "core/parallel.h"

namespace likewise {
namespace {

/// Lines that one task of `alternating` takes.
constexpr Offset kLines = 64;

/// One side's numbers in the order of the grid.
struct Table {
  const SgdSide* order = nullptr;
  Matrix factors;
  Array<float> bias;
  Array<float> squares;
  Array<float> decay;
  Array<float> bias_decay;

  /// With room for the further pieces of long rows.
  void load(Side side, const Factors& from, const SgdParams& params, const SgdSide& in_order,
            std::span<const Index> piece_of) {
    order = &in_order;
    const Matrix& rows = from.side(side);
    const bool biased = !from.bias(side).empty();
    const bool adaptive = !from.squares(side).empty();
    const Index lines = rows.rows() + static_cast<Index>(piece_of.size());
    factors = Matrix(lines, rows.cols());
    if (biased) bias = Array<float>(lines);
    if (adaptive) squares = Array<float>(lines);
    decay = Array<float>(lines);
    bias_decay = Array<float>(lines);
    parallel_for(rows.rows(), 1024, [&](Offset at) {
      const Index r = order->row[at];
      std::copy_n(rows.row(r), rows.stride(), factors.row(static_cast<Index>(at)));
      if (biased) bias[at] = from.bias(side)[r];
      if (adaptive) squares[at] = from.squares(side)[r];
      const Offset count = order->count[at];
      const double nu = params.regularization_exponent;
      decay[at] = static_cast<float>(rating_decay(params.regularization, nu, count));
      bias_decay[at] = static_cast<float>(rating_decay(bias_lambda(params), nu, count));
    });
    for (std::size_t at = 0; at < piece_of.size(); ++at) {
      const Offset line = rows.rows() + static_cast<Offset>(at);
      decay[line] = decay[piece_of[at]];
      bias_decay[line] = bias_decay[piece_of[at]];
    }
  }

  /// All pieces start where their row stands.
  void split(const SgdRowEntries& lines) {
    parallel_for(std::ssize(lines.piece_of), 64, [&](Offset at) {
      const Index row = lines.piece_of[static_cast<std::size_t>(at)];
      const Index line = lines.rows() + static_cast<Index>(at);
      std::copy_n(factors.row(row), factors.stride(), factors.row(line));
      if (!bias.empty()) bias[line] = bias[row];
      if (!squares.empty()) squares[line] = squares[row];
    });
  }

  /// Rows end where their pieces do on average, with the squares of all. `start`: the squares that
  /// each began with.
  void join(const SgdRowEntries& lines, std::span<const SgdPieces> long_rows,
            std::span<const float> start) {
    parallel_for(std::ssize(long_rows), 1, [&](Offset at) {
      const SgdPieces& pieces = long_rows[static_cast<std::size_t>(at)];
      const Index row = pieces.row;
      const auto weigh = [&](Index line) {
        return static_cast<float>(static_cast<double>(lines.size(line)) /
                                  static_cast<double>(pieces.entries));
      };
      float* const x = factors.row(row);
      const float own = weigh(row);
      for (Index j = 0; j < factors.cols(); ++j) x[j] *= own;
      if (!bias.empty()) bias[row] *= own;
      for (Index line = pieces.first; line < pieces.last; ++line) {
        const float share = weigh(line);
        for (Index j = 0; j < factors.cols(); ++j) x[j] += share * factors.row(line)[j];
        if (!bias.empty()) bias[row] += share * bias[line];
        if (!squares.empty()) squares[row] += squares[line] - start[static_cast<std::size_t>(at)];
      }
    });
  }

  void store(Side side, Factors& to) const {
    parallel_for(order->row.size(), 1024, [&](Offset at) {
      const Index r = order->row[at];
      std::copy_n(factors.row(static_cast<Index>(at)), factors.stride(), to.side(side).row(r));
      if (!bias.empty()) to.bias(side)[r] = bias[at];
      if (!squares.empty()) to.squares(side)[r] = squares[at];
    });
  }

  [[nodiscard]] kernels::SgdRows rows() {
    return {factors.data(), bias.empty() ? nullptr : bias.data(), decay.data(), bias_decay.data(),
            squares.empty() ? nullptr : squares.data()};
  }

  /// sum of lambda count^nu (|x|^2 + b^2)
  [[nodiscard]] double regularization() const {
    constexpr Offset kBlock = 4096;
    const Offset rows = order->row.size();
    std::vector<double> sums(static_cast<std::size_t>((rows + kBlock - 1) / kBlock));
    parallel_blocks(rows, kBlock, [&](Offset begin, Offset end, Offset block) {
      double sum = 0.0;
      for (Offset at = begin; at < end; ++at) {
        const float* x = factors.row(static_cast<Index>(at));
        const double b = bias.empty() ? 0.0 : double{bias[at]};
        sum += static_cast<double>(order->count[at]) *
               (double{decay[at]} * kernels::dot(x, x, factors.stride()) +
                double{bias_decay[at]} * b * b);
      }
      sums[static_cast<std::size_t>(block)] = sum;
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
  }
};

class CpuSgdSolver final : public SgdSolver {
 public:
  CpuSgdSolver(const CsrView& by_user, const SgdParams& params, Factors start,
               const SgdWhole& whole)
      : params_(params),
        spread_(whole.spread ? *whole.spread : value_spread(by_user, params).spread),
        grid_(make_sgd_grid(by_user,
                            sgd_stripes({by_user.rows, by_user.cols, by_user.nnz()}, params),
                            params.seed, whole)),
        factors_(std::move(start)) {
    if (params.order == SgdOrder::kAlternating) {
      user_rows_ = entries_by_row(grid_, Side::kUsers);
      item_rows_ = entries_by_row(grid_, Side::kItems);
      grid_.entries = {};
    }
    users_.load(Side::kUsers, factors_, params, grid_.users, user_rows_.piece_of);
    items_.load(Side::kItems, factors_, params, grid_.items, item_rows_.piece_of);
  }

  double epoch(int, double learning_rate, const RunControl& control) override {
    fresh_ = false;
    const StepScales scales = step_scales(spread_, params_.factors);
    kernels::SgdRun run;
    run.stride = users_.factors.stride();
    run.mean = factors_.global_mean;
    run.rate = static_cast<float>(learning_rate * scales.rate);
    run.bias_rate = params_.biases ? static_cast<float>(learning_rate) : 0.0F;
    run.square_scale = static_cast<float>(scales.square);
    run.logistic = params_.loss == SgdLoss::kLogistic;
    const double losses = params_.order == SgdOrder::kAlternating ? alternate(run, control)
                          : params_.order == SgdOrder::kRacing    ? race(run, control)
                                                                  : rotate(run, control);
    return losses + users_.regularization() + items_.regularization();
  }

  const Factors& factors() override {
    if (!fresh_) {
      users_.store(Side::kUsers, factors_);
      items_.store(Side::kItems, factors_);
      fresh_ = true;
    }
    return factors_;
  }
  Factors take_factors() override {
    (void)factors();
    return std::move(factors_);
  }

 private:
  double rotate(kernels::SgdRun run, const RunControl& control) {
    run.users = users_.rows();
    run.items = items_.rows();
    double total = 0.0;
    std::vector<double> losses(static_cast<std::size_t>(grid_.stripes));
    for (Index turn = 0; turn < grid_.stripes; ++turn) {
      control.check();
      parallel_for(grid_.stripes, 1, [&](Offset p) {
        kernels::SgdRun block = run;
        block.entries =
            grid_.block(static_cast<Index>(p), grid_.item_stripe(static_cast<Index>(p), turn));
        losses[static_cast<std::size_t>(p)] = kernels::take_sgd_steps(block);
      });
      total += std::accumulate(losses.begin(), losses.end(), 0.0);
    }
    return total;
  }

  /// Blocks at any time: whoever is done takes the next.
  double race(kernels::SgdRun run, const RunControl& control) {
    run.users = users_.rows();
    run.items = items_.rows();
    const Offset blocks = Offset{grid_.stripes} * grid_.stripes;
    std::vector<double> losses(static_cast<std::size_t>(blocks));
    parallel_for(blocks, 1, [&](Offset at) {
      control.check();
      const auto turn = static_cast<Index>(at / grid_.stripes);
      const auto p = static_cast<Index>(at % grid_.stripes);
      kernels::SgdRun block = run;
      block.entries = grid_.block(p, grid_.item_stripe(p, turn));
      losses[static_cast<std::size_t>(at)] = kernels::take_sgd_steps(block);
    });
    return std::accumulate(losses.begin(), losses.end(), 0.0);
  }

  double alternate(kernels::SgdRun run, const RunControl& control) {
    run.moves_items = false;
    run.users = users_.rows();
    run.items = items_.rows();
    const double losses = move_rows(run, users_, user_rows_, control);
    std::swap(run.users, run.items);
    (void)move_rows(run, items_, item_rows_, control);
    return losses;
  }

  static double move_rows(const kernels::SgdRun& run, Table& moved, const SgdRowEntries& rows,
                          const RunControl& control) {
    const std::vector<SgdPieces> long_rows = pieces_of(rows);
    std::vector<float> start;
    for (const SgdPieces& pieces : long_rows) {
      start.push_back(moved.squares.empty() ? 0.0F : moved.squares[pieces.row]);
    }
    moved.split(rows);
    const Index count = rows.lines();
    std::vector<double> losses(static_cast<std::size_t>((count + kLines - 1) / kLines));
    parallel_blocks(count, kLines, [&](Offset begin, Offset end, Offset block) {
      control.check();
      const Offset first = rows.begin[static_cast<std::size_t>(begin)];
      const Offset last = rows.begin[static_cast<std::size_t>(end)];
      kernels::SgdRun some = run;
      some.entries = rows.entries.span().subspan(static_cast<std::size_t>(first),
                                                 static_cast<std::size_t>(last - first));
      losses[static_cast<std::size_t>(block)] = kernels::take_sgd_steps(some);
    });
    moved.join(rows, long_rows, start);
    return std::accumulate(losses.begin(), losses.end(), 0.0);
  }

  SgdParams params_;
  double spread_;
  SgdGrid grid_;
  Table users_;
  Table items_;
  SgdRowEntries user_rows_;  // of alternating
  SgdRowEntries item_rows_;
  Factors factors_;
  bool fresh_ = true;  // factors_ is what the tables hold
};

}  // namespace

std::unique_ptr<SgdSolver> make_cpu_sgd_solver(const CsrView& by_user, const SgdParams& params,
                                               Factors start, const SgdWhole& whole) {
  return std::make_unique<CpuSgdSolver>(by_user, params, std::move(start), whole);
}

}  // namespace likewise
