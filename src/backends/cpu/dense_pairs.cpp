// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/dense_pairs.h"

#include <algorithm>

#include "core/dense_kernels.h"
#include "core/parallel.h"

namespace likewise {
namespace {

/// What a product writes: left part x right part^T goes to a lane.
struct Product {
  int left;
  int right;
  int lane;
};
constexpr int kA = 0;
constexpr int kM = 1;
constexpr int kS = 2;
constexpr Product kOne[] = {{kA, kA, 0}};
constexpr Product kFour[] = {{kM, kM, 0}, {kS, kM, 1}, {kM, kS, 2}, {kA, kA, 3}};
constexpr Product kEight[] = {{kM, kM, 0}, {kA, kM, 1}, {kM, kA, 2},
                              {kS, kM, 3}, {kM, kS, 4}, {kA, kA, 5}};

[[nodiscard]] std::span<const Product> products_of(int lanes) {
  if (lanes == 1) return kOne;
  if (lanes == 4) return kFour;
  return kEight;
}

/// Measured: seconds of a common entry, one after the other, and of an operation of a product.
constexpr double kSecondsOfEntry = 0.9e-9;
constexpr double kSecondsOfWideEntry = 1.7e-9;
constexpr double kSecondsOfOperation = 1e-11;

/// c = a b, for as many columns as c has, in panels of b that stay in the second cache.
void multiply_panels(const Matrix& a, const Matrix& b, Matrix& c) {
  constexpr Index kPanel = 256;
  for (Index j = 0; j < c.cols(); j += kPanel) {
    for (Index k = 0; k < b.rows(); k += kPanel) {
      kernels::multiply({.rows = a.rows(),
                         .n = std::min(kPanel, c.cols() - j),
                         .k = std::min(kPanel, b.rows() - k),
                         .a = a.data() + k,
                         .a_row = a.stride(),
                         .a_step = 1,
                         .b = b.row(k) + j,
                         .b_stride = b.stride(),
                         .c = c.data() + j,
                         .c_stride = c.stride(),
                         .add = k > 0});
    }
  }
}

}  // namespace

bool DensePairs::pays(const CsrView& rows, double pairs, int lanes) {
  const double cells = static_cast<double>(rows.rows) * rows.rows / 2.0 * rows.cols;
  const double dense = 2.0 * cells * static_cast<double>(products_of(lanes).size());
  return dense * kSecondsOfOperation < pairs * (lanes == 1 ? kSecondsOfEntry : kSecondsOfWideEntry);
}

DensePairs::DensePairs(const CsrView& rows, std::span<const Index> order, int lanes)
    : rows_(rows), order_(order), lanes_(lanes) {
  for (const Part part : {kWeights, kPattern, kSquares}) {
    if (!has(part)) continue;
    by_column_[part] = Matrix(rows.cols, rows.rows);
    Matrix& m = by_column_[part];
    // Ranks of a cache line belong to one task.
    parallel_for((rows.rows + 15) / 16, 4, [&](Offset block) {
      const auto first = static_cast<Index>(16 * block);
      for (Index rank = first; rank < std::min(first + 16, rows.rows); ++rank) {
        fill(part, rank, m.data() + rank, m.stride());
      }
    });
  }
}

void DensePairs::fill(Part part, Index rank, float* row, Offset stride) const {
  const Index number = order_[static_cast<std::size_t>(rank)];
  for (Offset e = rows_.offsets[number]; e < rows_.offsets[number + 1]; ++e) {
    const float a = rows_.values[e];
    row[stride * rows_.columns[e]] = part == kWeights ? a : part == kPattern ? 1.0F : a * a;
  }
}

void DensePairs::add(Index first, Index count, Index limit, std::vector<float>& out) const {
  out.assign(static_cast<std::size_t>(count) * static_cast<std::size_t>(limit) *
                 static_cast<std::size_t>(lanes_),
             0.0F);
  Matrix left[3];
  for (const Part part : {kWeights, kPattern, kSquares}) {
    if (!has(part)) continue;
    left[part] = Matrix(count, rows_.cols);
    for (Index r = 0; r < count; ++r) fill(part, first + r, left[part].row(r), 1);
  }
  Matrix product(count, limit);
  for (const Product& p : products_of(lanes_)) {
    multiply_panels(left[p.left], by_column_[p.right], product);
    for (Index r = 0; r < count; ++r) {
      const float* const from = product.row(r);
      float* const to = out.data() + (Offset{r} * limit) * lanes_ + p.lane;
      for (Index y = 0; y < limit; ++y) to[Offset{y} * lanes_] = from[y];
    }
  }
}

}  // namespace likewise
