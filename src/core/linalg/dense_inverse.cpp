// SPDX-License-Identifier: Apache-2.0
#include "core/linalg/dense_inverse.h"

#include <algorithm>
#include <vector>

#include "core/linalg/cholesky.h"
#include "core/linalg/dense_kernels.h"
#include "core/system/parallel.h"

namespace likewise {
namespace {

/// Upper triangle, row-major; rows aligned and padded with zeros.
struct Triangle {
  float* data = nullptr;
  Index n = 0;
  Index stride = 0;

  [[nodiscard]] float* at(Index row, Index column) const {
    return data + Offset{row} * stride + column;
  }
};

/// Panels stay in the L2 cache by tiles, and pivots of the outer blocks are few inner ones.
constexpr Index kOuter = 256;
constexpr Index kInner = 32;
/// Blocks of rows that go through all columns together: their tiles of the panel stay in cache.
constexpr Index kTogether = 4;

/// A = -A^-1 of up to kInner rows, both triangles, in double precision.
[[nodiscard]] Index invert_small(const Triangle& a, const float* least) {
  const Index n = a.n;
  double u[kInner * kInner];
  for (Index i = 0; i < n; ++i) std::copy_n(a.at(i, 0), n, u + i * n);
  if (const Index bad = cholesky_factor(u, n); bad >= 0) return bad;
  for (Index i = 0; i < n; ++i) {
    if (u[i * n + i] * u[i * n + i] <= double{least[i]}) return i;
  }
  double column[kInner];
  for (Index j = 0; j < n; ++j) {
    std::fill_n(column, n, 0.0);
    column[j] = 1.0;
    cholesky_solve(u, n, column);
    for (Index i = 0; i <= j; ++i) *a.at(i, j) = *a.at(j, i) = static_cast<float>(-column[i]);
  }
  return -1;
}

/// to_cr = scale * from_rc, a line of the cache at a time.
void transpose(const float* from, Offset from_stride, Index rows, Index columns, float scale,
               float* to, Offset to_stride) {
  constexpr Index kLine = 16;
  for (Index first = 0; first < rows; first += kLine) {
    const Index end = std::min(rows, first + kLine);
    for (Index c = 0; c < columns; ++c) {
      for (Index r = first; r < end; ++r) to[c * to_stride + r] = scale * from[r * from_stride + c];
    }
  }
}

void mirror(const Triangle& a) {
  for (Index i = 0; i < a.n; ++i) {
    for (Index j = i + 1; j < a.n; ++j) *a.at(j, i) = *a.at(i, j);
  }
}

/// A sweep of block k, D = A_kk, for all blocks i, j other than k:
///   A_ij -= A_ki' D^-1 A_kj,  A_kj = D^-1 A_kj,  A_kk = -D^-1
/// After the sweeps of all blocks A is -A^-1. While a sweep updates, the next one's D is inverted.
template <Index kBlock>
class Sweeps {
 public:
  explicit Sweeps(const Triangle& a)
      : a_(a),
        blocks_((a.n + kBlock - 1) / kBlock),
        negative_(kTile * blocks_),
        product_(kTile * blocks_),
        pivot_(kTile),
        next_pivot_(kTile) {
    for (Index first = 0; first < blocks_; first += kTogether) {
      const Index end = std::min(first + kTogether, blocks_);
      for (Index j = first; j < blocks_; ++j) {
        for (Index i = first; i < std::min(end, j + 1); ++i) pairs_.push_back({i, j});
      }
    }
  }

  [[nodiscard]] Index blocks() const { return blocks_; }

  /// Block after block. Returns -1 or the first bad row.
  [[nodiscard]] Index sweep(Index k, const float* least) {
    if (k == 0) invert_pivot(k, least);
    if (bad_ >= 0) return k * kBlock + bad_;
    std::swap(pivot_, next_pivot_);
    gather(k);
    for_all(blocks_, [&](Offset j) {
      if (j != k) multiply_by_pivot(k, static_cast<Index>(j));
    });
    const Index next = k + 1;
    const auto found = std::ranges::find(pairs_, Pair{next, next});
    const Offset first = found != pairs_.end() ? found - pairs_.begin() : 0;
    for_all(std::ssize(pairs_), [&](Offset p) {
      const Offset pair = p == 0 ? first : p == first ? 0 : p;
      const auto [i, j] = pairs_[static_cast<std::size_t>(pair)];
      if (i != k && j != k) update(k, i, j);
      if (i == next && j == next) invert_pivot(next, least);
    });
    for_all(blocks_, [&](Offset j) { put_back(k, static_cast<Index>(j)); });
    return -1;
  }

 private:
  static constexpr Offset kTile = Offset{kBlock} * kBlock;

  struct Pair {
    Index i;
    Index j;
    [[nodiscard]] bool operator==(const Pair&) const = default;
  };

  /// The inner sweeps are a task of their own. The outer ones go over the same tiles each time.
  template <class Body>
  static void for_all(Offset count, const Body& body) {
    if constexpr (kBlock == kOuter) {
      run_affine_tasks(count, TaskView(body));
    } else {
      for (Offset i = 0; i < count; ++i) body(i);
    }
  }

  [[nodiscard]] Index rows_of(Index block) const { return std::min(kBlock, a_.n - block * kBlock); }
  [[nodiscard]] float* negative(Index j) { return negative_.data() + j * kTile; }
  [[nodiscard]] float* product(Index j) { return product_.data() + j * kTile; }

  /// -A_kj of all other j, tile by tile.
  void gather(Index k) {
    for_all(blocks_, [&](Offset block) {
      const auto j = static_cast<Index>(block);
      const float* const from = a_.at(std::min(j, k) * kBlock, std::max(j, k) * kBlock);
      if (j < k) {
        transpose(from, a_.stride, kBlock, rows_of(k), -1.0F, negative(j), kBlock);
      }
      for (Index r = 0; j > k && r < kBlock; ++r) {
        for (Index c = 0; c < rows_of(j); ++c) {
          negative(j)[r * kBlock + c] = -from[Offset{r} * a_.stride + c];
        }
      }
    });
  }

  /// The next pivot, and its first bad row or -1.
  void invert_pivot(Index k, const float* least) {
    const Triangle pivot{next_pivot_.data(), rows_of(k), kBlock};
    for (Index r = 0; r < pivot.n; ++r) {
      std::copy_n(a_.at(k * kBlock + r, k * kBlock), pivot.n, pivot.at(r, 0));
    }
    bad_ = invert(pivot, least + k * kBlock);
  }

  [[nodiscard]] static Index invert(const Triangle& pivot, const float* least) {
    if constexpr (kBlock == kInner) {
      return invert_small(pivot, least);
    } else {
      Sweeps<kInner> inner(pivot);
      for (Index block = 0; block < inner.blocks(); ++block) {
        if (const Index bad = inner.sweep(block, least); bad >= 0) return bad;
      }
      mirror(pivot);
      return -1;
    }
  }

  /// D^-1 A_kj = (-D^-1) (-A_kj)
  void multiply_by_pivot(Index k, Index j) {
    kernels::multiply({rows_of(k), rows_of(j), rows_of(k), pivot_.data(), kBlock, 1, negative(j),
                       kBlock, product(j), kBlock});
  }

  /// A_ij += (-A_ki)' (D^-1 A_kj)
  void update(Index k, Index i, Index j) {
    kernels::multiply({rows_of(i), rows_of(j), rows_of(k), negative(i), 1, kBlock, product(j),
                       kBlock, a_.at(i * kBlock, j * kBlock), a_.stride, true, i == j});
  }

  void put_back(Index k, Index j) {
    if (j < k) {
      float* const to = a_.at(j * kBlock, k * kBlock);
      return transpose(product(j), kBlock, rows_of(k), kBlock, 1.0F, to, a_.stride);
    }
    const float* const from = j == k ? pivot_.data() : product(j);
    for (Index r = 0; r < rows_of(k); ++r) {
      const Index first = j == k ? r : 0;
      std::copy_n(from + r * kBlock + first, rows_of(j) - first,
                  a_.at(k * kBlock + r, j * kBlock + first));
    }
  }

  Triangle a_;
  Index blocks_;
  Array<float> negative_;    ///< -A_kj, a tile for each j
  Array<float> product_;     ///< D^-1 A_kj
  Array<float> pivot_;       ///< -D^-1
  Array<float> next_pivot_;  ///< of the next sweep
  Index bad_ = -1;           ///< row of that one
  std::vector<Pair> pairs_;
};

}  // namespace

Index negative_inverse(Matrix& a, std::span<const float> least_pivots, std::string_view stage,
                       const RunControl& control) {
  Sweeps<kOuter> sweeps({a.data(), a.rows(), a.stride()});
  for (Index block = 0; block < sweeps.blocks(); ++block) {
    control.check();
    if (const Index bad = sweeps.sweep(block, least_pivots.data()); bad >= 0) return bad;
    control.report(stage, block + 1, sweeps.blocks(), "blocks");
  }
  return -1;
}

}  // namespace likewise
