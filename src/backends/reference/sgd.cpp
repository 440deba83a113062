// SPDX-License-Identifier: Apache-2.0
/// SGD by the definitions, in double precision: the oracle for every other backend. Nothing here is
/// fast on purpose; what is done at the same time elsewhere comes one after the other.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "algorithms/sgd/grid.h"
#include "algorithms/sgd/setup.h"
#include "backends/reference/jobs.h"

namespace likewise {
namespace {

/// A row of a side, in double precision.
struct SgdRow {
  std::vector<double> x;
  double bias = 0.0;
  double squares = 0.0;
  Offset count = 0;
};

[[nodiscard]] double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

class ReferenceSgdSolver final : public SgdSolver {
 public:
  ReferenceSgdSolver(const CsrView& by_user, const SgdParams& params, Factors start,
                     const SgdWhole& whole, Index stripes)
      : params_(params),
        spread_(whole.spread ? *whole.spread : value_spread(by_user, params).spread),
        bounded_(whole.bounded),
        grid_(make_sgd_grid(by_user, stripes, params.seed, whole)),
        factors_(std::move(start)) {
    load(Side::kUsers, grid_.users, users_);
    load(Side::kItems, grid_.items, items_);
  }

  double epoch(int, double learning_rate, const RunControl& control) override {
    rate_ = learning_rate;
    double losses = 0.0;
    if (params_.order == SgdOrder::kAlternating) {
      losses = move_rows(users_, items_, entries_by_row(grid_, Side::kUsers));
      (void)move_rows(items_, users_, entries_by_row(grid_, Side::kItems));
    } else {
      for (Index turn = 0; turn < grid_.stripes; ++turn) {
        control.check();
        for (Index p = 0; p < grid_.stripes; ++p) {
          for (const SgdEntry& e : grid_.block(p, grid_.item_stripe(p, turn))) {
            losses += step(at(users_, e.user), at(items_, e.item), e.value, true);
          }
        }
      }
    }
    store(Side::kUsers, grid_.users, users_);
    store(Side::kItems, grid_.items, items_);
    return losses + regularization();
  }

  const Factors& factors() override { return factors_; }
  Factors take_factors() override { return std::move(factors_); }

 private:
  /// sum of lambda count^nu (|x|^2 + b^2)
  [[nodiscard]] double regularization() const {
    double term = 0.0;
    for (const auto* rows : {&users_, &items_}) {
      for (const SgdRow& row : *rows) {
        const double power =
            std::pow(static_cast<double>(row.count), params_.regularization_exponent);
        if (row.count == 0) continue;
        term += power * (params_.regularization * dot(row.x, row.x) +
                         bias_lambda(params_) * row.bias * row.bias);
      }
    }
    return term;
  }

  static SgdRow& at(std::vector<SgdRow>& rows, Index number) {
    return rows[static_cast<std::size_t>(number)];
  }

  double move_rows(std::vector<SgdRow>& moved, std::vector<SgdRow>& fixed,
                   const SgdRowEntries& entries) {
    const std::vector<SgdRow> start = moved;
    for (const Index row : entries.piece_of) moved.push_back(at(moved, row));
    double losses = 0.0;
    for (const SgdEntry& e : entries.entries) {
      losses += step(at(moved, e.user), at(fixed, e.item), e.value, false);
    }
    for (const SgdPieces& pieces : pieces_of(entries)) {
      SgdRow& row = at(moved, pieces.row);
      const auto weigh = [&](Index line) {
        return static_cast<double>(entries.size(line)) / static_cast<double>(pieces.entries);
      };
      const double own = weigh(pieces.row);
      for (double& x : row.x) x *= own;
      row.bias *= own;
      for (Index line = pieces.first; line < pieces.last; ++line) {
        const SgdRow& piece = at(moved, line);
        for (std::size_t j = 0; j < row.x.size(); ++j) row.x[j] += weigh(line) * piece.x[j];
        row.bias += weigh(line) * piece.bias;
        row.squares += piece.squares - start[static_cast<std::size_t>(pieces.row)].squares;
      }
    }
    moved.resize(start.size());
    return losses;
  }

  /// Half the derivative of the objective by each number, times the rate.
  double step(SgdRow& u, SgdRow& i, double value, bool moves_items) {
    const double score = double{factors_.global_mean} + u.bias + i.bias + dot(u.x, i.x);
    double error = value - score;
    double loss = error * error;
    if (params_.loss == SgdLoss::kLogistic) {
      const double target = value > 0.0 ? 1.0 : 0.0;
      const double probability = 1.0 / (1.0 + std::exp(-score));
      error = target - probability;
      loss = -2.0 * std::log(target > 0.0 ? probability : 1.0 - probability);
    }
    const SgdRow old_user = u;
    const double beyond = reach(u, i) + (moves_items ? reach(i, u) : 0.0);
    const double part = bounded_ && beyond > 1.0 ? 1.0 / beyond : 1.0;
    const double item_step = part * step_of(i);
    move(u, i, error, part * step_of(u));
    if (moves_items) move(i, old_user, error, item_step);
    return loss;
  }

  [[nodiscard]] double step_of(const SgdRow& row) const {
    return is_adaptive(params_) ? rate_ / std::sqrt(1.0 + row.squares) : rate_;
  }
  [[nodiscard]] double decay_of(const SgdRow& row, double lambda) const {
    return rating_decay(lambda, params_.regularization_exponent, row.count);
  }

  [[nodiscard]] double reach(const SgdRow& row, const SgdRow& other) const {
    const double step = step_of(row);
    return step_reach(step * step_scales(spread_, params_.factors).rate, dot(other.x, other.x),
                      decay_of(row, params_.regularization), params_.biases ? step : 0.0,
                      decay_of(row, bias_lambda(params_)));
  }

  void move(SgdRow& row, const SgdRow& other, double error, double step) const {
    const StepScales scales = step_scales(spread_, params_.factors);
    const double decay = decay_of(row, params_.regularization);
    const double bias_decay = decay_of(row, bias_lambda(params_));
    double square = 0.0;
    for (std::size_t j = 0; j < row.x.size(); ++j) {
      const double gradient = error * other.x[j] - decay * row.x[j];
      square += gradient * gradient;
      row.x[j] += step * scales.rate * gradient;
      if (params_.nonnegative) row.x[j] = std::max(row.x[j], 0.0);
    }
    if (is_adaptive(params_)) row.squares += scales.square * square;
    if (params_.biases) row.bias += step * (error - bias_decay * row.bias);
  }

  void load(Side side, const SgdSide& order, std::vector<SgdRow>& rows) const {
    for (Offset at = 0; at < order.row.size(); ++at) {
      const Index r = order.row[at];
      const std::span<const float> x = factors_.side(side).row_span(r);
      SgdRow row;
      row.x.assign(x.begin(), x.end());
      if (params_.biases) row.bias = factors_.bias(side)[r];
      if (is_adaptive(params_)) row.squares = factors_.squares(side)[r];
      row.count = order.count[at];
      rows.push_back(std::move(row));
    }
  }
  void store(Side side, const SgdSide& order, const std::vector<SgdRow>& rows) {
    for (std::size_t at = 0; at < rows.size(); ++at) {
      const Index r = order.row[static_cast<Offset>(at)];
      const std::span<float> x = factors_.side(side).row_span(r);
      for (std::size_t j = 0; j < x.size(); ++j) x[j] = static_cast<float>(rows[at].x[j]);
      if (params_.biases) factors_.bias(side)[r] = static_cast<float>(rows[at].bias);
      if (is_adaptive(params_)) factors_.squares(side)[r] = static_cast<float>(rows[at].squares);
    }
  }

  SgdParams params_;
  double spread_;
  bool bounded_;
  SgdGrid grid_;
  Factors factors_;
  std::vector<SgdRow> users_;
  std::vector<SgdRow> items_;
  double rate_ = 0.0;
};

}  // namespace

std::unique_ptr<SgdSolver> make_reference_sgd_solver(const CsrView& by_user,
                                                     const SgdParams& params, Factors start,
                                                     const SgdWhole& whole, Index stripes) {
  return std::make_unique<ReferenceSgdSolver>(by_user, params, std::move(start), whole, stripes);
}

}  // namespace likewise
