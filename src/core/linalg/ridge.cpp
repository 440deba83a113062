// SPDX-License-Identifier: Apache-2.0
#include "core/linalg/ridge.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/system/parallel.h"

namespace likewise {
namespace {

/// Columns that are solved together: they share the walk over V.
constexpr Index kLanes = 16;
constexpr int kMostSteps = 500;
constexpr double kTolerance = 1e-6;
constexpr Offset kRowsAtATime = 256;

using Lanes = std::array<double, kLanes>;
using Block = std::vector<Lanes>;

/// out = V in
void times(const CsrView& v, const Block& in, Block& out) {
  for (Index row = 0; row < v.rows; ++row) {
    Lanes sum{};
    for (Offset e = v.offsets[row]; e < v.offsets[row + 1]; ++e) {
      const Lanes& from = in[static_cast<std::size_t>(v.columns[e])];
      for (std::size_t l = 0; l < kLanes; ++l) sum[l] += double{v.values[e]} * from[l];
    }
    out[static_cast<std::size_t>(row)] = sum;
  }
}

/// out = V^T in + lambda w
void transposed_times(const CsrView& v, const Block& in, double lambda, const Block& w,
                      Block& out) {
  for (std::size_t t = 0; t < out.size(); ++t) {
    for (std::size_t l = 0; l < kLanes; ++l) out[t][l] = lambda * w[t][l];
  }
  for (Index row = 0; row < v.rows; ++row) {
    const Lanes& from = in[static_cast<std::size_t>(row)];
    for (Offset e = v.offsets[row]; e < v.offsets[row + 1]; ++e) {
      Lanes& to = out[static_cast<std::size_t>(v.columns[e])];
      for (std::size_t l = 0; l < kLanes; ++l) to[l] += double{v.values[e]} * from[l];
    }
  }
}

[[nodiscard]] Lanes dot(const Block& a, const Block& b) {
  Lanes sum{};
  for (std::size_t t = 0; t < a.size(); ++t) {
    for (std::size_t l = 0; l < kLanes; ++l) sum[l] += a[t][l] * b[t][l];
  }
  return sum;
}

/// Columns [first, first + kLanes) of a matrix, 0 beyond its padding.
[[nodiscard]] Block columns_of(const MatrixView& m, Index first) {
  Block block(static_cast<std::size_t>(m.rows));
  for (Index row = 0; row < m.rows; ++row) {
    std::copy_n(m.row(row) + first, kLanes, block[static_cast<std::size_t>(row)].begin());
  }
  return block;
}

/// (V^T V + lambda I) W = V^T Y
void solve_block(const CsrView& v, const MatrixView& y, double lambda, Index first, Matrix& w,
                 const RunControl& control) {
  const auto tags = static_cast<std::size_t>(v.cols);
  Block x = columns_of(w.view(), first);
  Block through(static_cast<std::size_t>(v.rows));
  Block b(tags);
  Block product(tags);
  transposed_times(v, columns_of(y, first), 0.0, x, b);
  times(v, x, through);
  transposed_times(v, through, lambda, x, product);
  Block residual(tags);
  for (std::size_t t = 0; t < tags; ++t) {
    for (std::size_t l = 0; l < kLanes; ++l) residual[t][l] = b[t][l] - product[t][l];
  }
  Block direction = residual;
  Lanes squared = dot(residual, residual);
  const Lanes goal = dot(b, b);
  const auto is_done = [&](std::size_t l) {
    return squared[l] <= kTolerance * kTolerance * goal[l];
  };
  for (int step = 0; step < kMostSteps; ++step) {
    control.check();
    bool done = true;
    for (std::size_t l = 0; l < kLanes; ++l) done = done && is_done(l);
    if (done) break;
    times(v, direction, through);
    transposed_times(v, through, lambda, direction, product);
    const Lanes curvature = dot(direction, product);
    Lanes alpha{};
    for (std::size_t l = 0; l < kLanes; ++l) {
      alpha[l] = is_done(l) || curvature[l] <= 0.0 ? 0.0 : squared[l] / curvature[l];
    }
    for (std::size_t t = 0; t < tags; ++t) {
      for (std::size_t l = 0; l < kLanes; ++l) {
        x[t][l] += alpha[l] * direction[t][l];
        residual[t][l] -= alpha[l] * product[t][l];
      }
    }
    const Lanes now = dot(residual, residual);
    Lanes beta{};
    for (std::size_t l = 0; l < kLanes; ++l) {
      beta[l] = squared[l] > 0.0 ? now[l] / squared[l] : 0.0;
    }
    for (std::size_t t = 0; t < tags; ++t) {
      for (std::size_t l = 0; l < kLanes; ++l) {
        direction[t][l] = residual[t][l] + beta[l] * direction[t][l];
      }
    }
    squared = now;
  }
  for (std::size_t t = 0; t < tags; ++t) {
    float* to = w.row(static_cast<Index>(t)) + first;
    std::ranges::transform(x[t], to, [](double one) { return static_cast<float>(one); });
  }
}

}  // namespace

Matrix ridge_regression(const CsrView& v, const MatrixView& y, double lambda, const Matrix* start,
                        const RunControl& control) {
  const RunControl quiet{control.cancel, {}};
  Matrix w = start != nullptr ? start->clone() : Matrix(v.cols, y.cols);
  parallel_for(y.stride / kLanes, 1, [&](Offset block) {
    solve_block(v, y, lambda, static_cast<Index>(block) * kLanes, w, quiet);
  });
  return w;
}

Matrix multiply_sparse(const CsrView& v, const MatrixView& w) {
  Matrix product(v.rows, w.cols);
  parallel_for(v.rows, kRowsAtATime, [&](Offset at) {
    const auto row = static_cast<Index>(at);
    std::vector<double> sum(static_cast<std::size_t>(w.cols));
    for (Offset e = v.offsets[row]; e < v.offsets[row + 1]; ++e) {
      const float* from = w.row(v.columns[e]);
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += double{v.values[e]} * double{from[c]};
    }
    std::ranges::transform(sum, product.row(row),
                           [](double one) { return static_cast<float>(one); });
  });
  return product;
}

}  // namespace likewise
