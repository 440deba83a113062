// SPDX-License-Identifier: Apache-2.0
#include "core/linalg/dense_kernels.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/linalg/dense_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace likewise::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 16>;
using Vec = hn::Vec<Tag>;

HWY_INLINE Index lanes() { return static_cast<Index>(hn::Lanes(Tag())); }

/// A register tile of kRows x kVectors sums: 24 of AVX-512's 32 registers, 12 of AVX2's 16.
constexpr int kRows = 6;
constexpr int kVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;

/// One tile of C over all k. Asks ahead for what the next rows want of a C and a transposed A that
/// lie beyond the nearest caches, little by little: requests under way are few.
template <int R, int V>
HWY_INLINE void micro_tile(const Product& p, Index i, Index j) {
  const Tag d;
  const Offset step = lanes();
  Vec sum[R][V];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) {
      sum[r][v] =
          p.add ? hn::Load(d, p.c + Offset{i + r} * p.c_stride + j + v * step) : hn::Zero(d);
    }
  }
  constexpr Index kApart = 8;
  const Index ahead = p.add ? std::min(Index{R}, std::max(Index{0}, p.rows - i - R)) * V : 0;
  constexpr Offset kLine = 16;
  const float* a = p.a + i * p.a_row;
  const float* b = p.b + j;
  for (Index k = 0; k < p.k; ++k, a += p.a_step, b += p.b_stride) {
    if (p.a_row == 1) hwy::Prefetch(a + kLine);
    if (k % kApart == 0 && k / kApart < ahead) {
      const Index line = k / kApart;
      hwy::Prefetch(p.c + Offset{i + R + line / V} * p.c_stride + j + line % V * step);
    }
    Vec x[V];
    for (int v = 0; v < V; ++v) x[v] = hn::Load(d, b + v * step);
    for (int r = 0; r < R; ++r) {
      const Vec y = hn::Set(d, a[r * p.a_row]);
      for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(y, x[v], sum[r][v]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) {
      hn::Store(sum[r][v], d, p.c + Offset{i + r} * p.c_stride + j + v * step);
    }
  }
}

/// All columns of R rows.
template <int R>
HWY_INLINE void row_strip(const Product& p, Index i) {
  const Index end = (p.n + 15) / 16 * 16;
  Index j = p.upper ? i / 16 * 16 : 0;
  for (; j + kVectors * lanes() <= end; j += kVectors * lanes()) micro_tile<R, kVectors>(p, i, j);
  if constexpr (kVectors > 2) {
    for (; j + 2 * lanes() <= end; j += 2 * lanes()) micro_tile<R, 2>(p, i, j);
  }
  for (; j < end; j += lanes()) micro_tile<R, 1>(p, i, j);
}

void Multiply(const Product& p) {
  Index i = 0;
  for (; i + kRows <= p.rows; i += kRows) row_strip<kRows>(p, i);
  switch (p.rows - i) {
    case 5:
      return row_strip<5>(p, i);
    case 4:
      return row_strip<4>(p, i);
    case 3:
      return row_strip<3>(p, i);
    case 2:
      return row_strip<2>(p, i);
    case 1:
      return row_strip<1>(p, i);
    default:
      return;
  }
}

/// row_i -= sum over the panel's rows of U(row, i) row, from the vector that holds column i on.
template <int R>
HWY_INLINE void subtract_panel(const float* HWY_RESTRICT panel, Index stride, Index i, Index n,
                               float* HWY_RESTRICT row) {
  const Tag d;
  Vec scale[R];
  for (int r = 0; r < R; ++r) scale[r] = hn::Set(d, panel[Offset{r} * stride + i]);
  for (Index j = i / lanes() * lanes(); j < n; j += lanes()) {
    Vec sum = hn::Load(d, row + j);
    for (int r = 0; r < R; ++r) {
      sum = hn::NegMulAdd(scale[r], hn::Load(d, panel + Offset{r} * stride + j), sum);
    }
    hn::Store(sum, d, row + j);
  }
}

/// Right-looking, four rows of U at a time.
Index CholeskyUpper(float* u, Index n, Index stride) {
  constexpr Index kPanel = 4;
  for (Index first = 0; first < n; first += kPanel) {
    float* panel = u + Offset{first} * stride;
    const Index rows = std::min(kPanel, n - first);
    for (Index r = 0; r < rows; ++r) {
      float* row = panel + Offset{r} * stride;
      for (Index above = 0; above < r; ++above) {
        subtract_panel<1>(panel + Offset{above} * stride, stride, first + r, n, row);
      }
      const float pivot = row[first + r];
      if (!(pivot > 0.0F) || !std::isfinite(pivot)) return first + r;
      const float scale = 1.0F / std::sqrt(pivot);
      for (Index j = first + r; j < n; ++j) row[j] *= scale;
    }
    for (Index i = first + rows; i < n; ++i) {
      subtract_panel<kPanel>(panel, stride, i, n, u + Offset{i} * stride);
    }
  }
  return -1;
}

void SolveUpper(const float* u, Index n, Index stride, float* HWY_RESTRICT b) {
  const Tag d;
  for (Index i = 0; i < n; ++i) {
    const float* row = u + Offset{i} * stride;
    const float x = b[i] /= row[i];
    const Vec scale = hn::Set(d, x);
    Index j = i + 1;
    for (; j < n && j % lanes() != 0; ++j) b[j] -= x * row[j];
    for (; j + lanes() <= n; j += lanes()) {
      hn::Store(hn::NegMulAdd(scale, hn::Load(d, row + j), hn::Load(d, b + j)), d, b + j);
    }
    for (; j < n; ++j) b[j] -= x * row[j];
  }
  for (Index i = n - 1; i >= 0; --i) {
    const float* row = u + Offset{i} * stride;
    float rest = b[i];
    Vec sum = hn::Zero(d);
    Index j = i + 1;
    for (; j < n && j % lanes() != 0; ++j) rest -= row[j] * b[j];
    for (; j + lanes() <= n; j += lanes()) {
      sum = hn::MulAdd(hn::Load(d, row + j), hn::Load(d, b + j), sum);
    }
    for (; j < n; ++j) rest -= row[j] * b[j];
    b[i] = (rest - hn::GetLane(hn::SumOfLanes(d, sum))) / row[i];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace likewise::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace likewise::kernels {
HWY_EXPORT(Multiply);
HWY_EXPORT(CholeskyUpper);
HWY_EXPORT(SolveUpper);

void multiply(const Product& product) { HWY_DYNAMIC_DISPATCH(Multiply)(product); }
Index cholesky_upper(float* u, Index n, Index stride) {
  return HWY_DYNAMIC_DISPATCH(CholeskyUpper)(u, n, stride);
}
void solve_upper(const float* u, Index n, Index stride, float* b) {
  HWY_DYNAMIC_DISPATCH(SolveUpper)(u, n, stride, b);
}

}  // namespace likewise::kernels
#endif
