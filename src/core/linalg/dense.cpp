// SPDX-License-Identifier: Apache-2.0
#include "core/linalg/dense.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/linalg/dense_kernels.h"
#include "core/linalg/lapack.h"
#include "core/system/parallel.h"
#include "likewise/error.h"

namespace likewise {
namespace {

[[noreturn]] void throw_not_finite(Index d) {
  throw Error(ErrorKind::kNumerical,
              fmt::format("a {0} x {0} Gram matrix of the factors is not finite: use a larger "
                          "regularization, or values nearer to 1",
                          d));
}

constexpr Index kBlock = 512;

/// gram (d x d, upper triangle) = sum of the block's weighted outer products, in float32.
void block_gram(const MatrixView& m, std::span<const float> weights, Index first, Index count,
                Matrix& scaled, Matrix& gram) {
  MatrixView left = m.slice(first, count);
  if (!weights.empty()) {
    for (Index r = 0; r < count; ++r) {
      const float weight = weights[static_cast<std::size_t>(first) + static_cast<std::size_t>(r)];
      for (Index j = 0; j < m.cols; ++j) scaled.row(r)[j] = weight * left.row(r)[j];
    }
    left = scaled.view();
  }
  kernels::multiply({m.cols, m.cols, count, left.data, 1, left.stride, m.row(first), m.stride,
                     gram.data(), gram.stride(), false, true});
}

}  // namespace

void multiply(Index rows, const float* a, Index a_stride, const MatrixView& b, float* c,
              Index c_stride) {
  kernels::multiply({rows, b.cols, b.rows, a, a_stride, 1, b.data, b.stride, c, c_stride});
}

std::vector<double> weighted_gram(const MatrixView& m, std::span<const float> weights) {
  const auto d = static_cast<std::size_t>(m.cols);
  std::vector<double> total(d * d, 0.0);
  if (m.rows == 0 || d == 0) return total;

  // Rounds of a fixed number of parts, whatever the number of threads; each part takes every
  // kParts-th block, and the parts are added in their order.
  constexpr Offset kParts = 32;
  const Offset blocks = (m.rows + kBlock - 1) / kBlock;
  std::vector<std::vector<double>> parts(static_cast<std::size_t>(std::min(kParts, blocks)));
  parallel_for(static_cast<Offset>(parts.size()), 1, [&](Offset p) {
    auto& sum = parts[static_cast<std::size_t>(p)];
    sum.assign(d * d, 0.0);
    Matrix gram(m.cols, m.cols);
    Matrix scaled(weights.empty() ? 0 : kBlock, m.cols);
    for (Offset b = p; b < blocks; b += kParts) {
      const auto first = static_cast<Index>(b * kBlock);
      block_gram(m, weights, first, std::min<Index>(kBlock, m.rows - first), scaled, gram);
      for (std::size_t i = 0; i < d; ++i) {
        const float* row = gram.row(static_cast<Index>(i));
        for (std::size_t j = i; j < d; ++j) sum[i * d + j] += row[j];
      }
    }
  });
  for (const auto& sum : parts) {
    for (std::size_t i = 0; i < d * d; ++i) total[i] += sum[i];
  }
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < i; ++j) total[i * d + j] = total[j * d + i];
  }
  return total;
}

Eigenbasis eigenbasis(std::vector<double> a, Index d) {
  for (const double x : a) {
    if (!std::isfinite(x)) throw_not_finite(d);
  }
  Eigenbasis basis{symmetric_eigen(a, d), Matrix(d, d), Matrix(d, d)};
  for (Index j = 0; j < d; ++j) {
    for (Index i = 0; i < d; ++i) {
      const auto x = static_cast<float>(a[static_cast<std::size_t>(Offset{j} * d + i)]);
      basis.transposed.row(j)[i] = x;
      basis.vectors.row(i)[j] = x;
    }
  }
  return basis;
}

double longest_row(const MatrixView& rows) {
  constexpr Offset kBlock = 256;
  std::vector<double> squares(static_cast<std::size_t>((rows.rows + kBlock - 1) / kBlock));
  parallel_blocks(rows.rows, kBlock, [&](Offset begin, Offset end, Offset block) {
    double most = 0.0;
    for (Offset row = begin; row < end; ++row) {
      double sum = 0.0;
      for (const float x : rows.row_span(static_cast<Index>(row))) sum += double{x} * double{x};
      most = std::max(most, sum);
    }
    squares[static_cast<std::size_t>(block)] = most;
  });
  return squares.empty() ? 0.0 : std::sqrt(std::ranges::max(squares));
}

bool is_nonnegative(const Matrix& m) {
  for (Index row = 0; row < m.rows(); ++row) {
    if (std::ranges::any_of(m.row_span(row), [](float x) { return x < 0.0F; })) return false;
  }
  return true;
}

}  // namespace likewise
