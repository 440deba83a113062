// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/als_empty.h"

#include <utility>

#include "algorithms/als/weights.h"

namespace likewise::cuda {
namespace {

class EmptyAlsSolver final : public AlsSolver {
 public:
  EmptyAlsSolver(const AlsParams& params, Factors factors)
      : params_(params), factors_(std::move(factors)) {}

  double solve(Side side, const RunControl&) override {
    Matrix& solved = factors_.side(side);
    solved = Matrix(solved.rows(), solved.cols());
    for (float& bias : factors_.bias(side)) bias = 0.0F;
    return regularization(other(side));
  }
  const Factors& factors() override { return factors_; }
  Factors take_factors() override { return std::move(factors_); }

 private:
  [[nodiscard]] double regularization(Side side) const {
    const Matrix& table = factors_.side(side);
    double squares = 0.0;
    for (Index row = 0; row < table.rows(); ++row) {
      for (const float x : table.row_span(row)) squares += static_cast<double>(x) * x;
    }
    for (const float bias : factors_.bias(side)) squares += static_cast<double>(bias) * bias;
    return squares * row_regularization(params_, 0, factors_.side(other(side)).rows());
  }

  AlsParams params_;
  Factors factors_;
};

}  // namespace

std::unique_ptr<AlsSolver> make_empty_als_solver(const AlsParams& params, Factors start) {
  return std::make_unique<EmptyAlsSolver>(params, std::move(start));
}

}  // namespace likewise::cuda
