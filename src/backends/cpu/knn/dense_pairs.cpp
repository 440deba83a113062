// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/knn/dense_pairs.h"

#include <algorithm>

#include "backends/cpu/kernels/dense_tile.h"
#include "core/linalg/scatter_columns.h"
#include "core/system/parallel.h"
#include "likewise/control.h"

namespace likewise {
namespace {

using kernels::kTileColumns;
using kernels::kTileRows;

enum Part { kA, kM, kS };

/// What a product writes: left part x right part^T goes to a lane.
struct Product {
  Part left;
  Part right;
  int lane;
};
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
constexpr double kSecondsOfEntry = 0.6e-9;
constexpr double kSecondsOfWideEntry = 1.7e-9;
template <class T>
constexpr double kSecondsOfOperation = sizeof(T) == 4 ? 1e-11 : 2e-11;

/// Rows that share a product; all their columns stay in the L2 cache.
constexpr Index kBlockRows = 64;
/// Sums that a block may make, however many rows there are.
constexpr Offset kBlockSums = Offset{1} << 23;
/// Columns that are added up before the next tile: they and the tile stay in the L1 cache.
constexpr Index kDepth = 128;
/// Tiles that share a depth of the block's rows.
constexpr Index kTilesAtOnce = 4;

[[nodiscard]] constexpr Index tiles_of(Index count, Index width) {
  return (count + width - 1) / width;
}

/// Pairs of entries that share a column, each once.
[[nodiscard]] double common_entries(const CsrView& rows) {
  const auto pairs_of = [](double n) { return n * (n - 1.0) / 2.0; };
  if (rows.nnz() == Offset{rows.rows} * rows.cols) return rows.cols * pairs_of(rows.rows);
  const auto row_at = [](Index row) { return row; };
  const ColumnScatter scatter(rows, row_at);
  double pairs = 0.0;
  for (Index c = 0; c < rows.cols; ++c) {
    pairs += pairs_of(static_cast<double>(scatter.begins()[c + 1] - scatter.begins()[c]));
  }
  return pairs;
}

/// Ranks [first, first + count) in tiles of kWidth, a tile column by column. Missing entries stay
/// as they are.
template <Index kWidth, class Number>
void pack(const CsrView& rows, std::span<const Index> order, Part part, Index first, Index count,
          Number* packed) {
  const Offset of_tile = Offset{rows.cols} * kWidth;
  parallel_for(tiles_of(count, kWidth), 1, [&](Offset tile) {
    const auto begin = static_cast<Index>(tile) * kWidth;
    for (Index r = begin; r < std::min(begin + kWidth, count); ++r) {
      const Index row = order[static_cast<std::size_t>(first + r)];
      Number* const to = packed + tile * of_tile + r - begin;
      for (Offset e = rows.offsets[row]; e < rows.offsets[row + 1]; ++e) {
        const Number a{rows.values[e]};
        to[Offset{rows.columns[e]} * kWidth] = part == kA ? a : part == kM ? Number{1} : a * a;
      }
    }
  });
}

/// The array, set to zeros; longer if need be.
template <class T>
T* zeros(Array<T>& array, Offset count) {
  if (array.size() < count) array = Array<T>::uninitialized(count);
  std::fill_n(array.data(), count, T{0});
  return array.data();
}

}  // namespace

template <class T>
KnnCost DensePairs<T>::cost(const CsrView& rows, int lanes) {
  const double threads = thread_count();
  const double pairs = static_cast<double>(rows.rows) * rows.rows / 2.0;
  const double operations =
      2.0 * pairs * rows.cols * static_cast<double>(products_of(lanes).size());
  KnnCost cost;
  cost.common = common_entries(rows);
  cost.sparse = cost.common * (lanes == 1 ? kSecondsOfEntry : kSecondsOfWideEntry) / threads;
  cost.dense = operations * kSecondsOfOperation<T> / threads;
  return cost;
}

template <class T>
DensePairs<T>::DensePairs(const CsrView& rows, std::span<const Index> order, int lanes)
    : rows_(rows), order_(order), lanes_(lanes) {
  for (const Part part : {kA, kM}) {
    if (part == kM && lanes == 1) continue;
    constexpr Index kColumns = kTileColumns<T>;
    panels_[part] = Array<float>(tiles_of(rows.rows, kColumns) * Offset{rows.cols} * kColumns);
    pack<kColumns>(rows_, order_, part, 0, rows.rows, panels_[part].data());
  }
}

template <class T>
Index DensePairs<T>::block_rows() const {
  const Offset fit = kBlockSums / std::max<Offset>(1, stride_of(rows_.rows));
  return static_cast<Index>(std::clamp<Offset>(fit, kTileRows, kBlockRows));
}

template <class T>
Offset DensePairs<T>::block_sums() const {
  return tiles_of(block_rows(), kTileRows) * kTileRows * stride_of(rows_.rows);
}

template <class T>
Offset DensePairs<T>::stride_of(Index limit) const {
  return Offset{tiles_of(limit, kTileColumns<T>)} * kTileColumns<T> * lanes_;
}

template <class T>
void DensePairs<T>::add(Index first, Index count, Index limit, Scratch& scratch, T* out) const {
  constexpr Index kColumns = kTileColumns<T>;
  const Index cols = rows_.cols;
  const Index row_tiles = tiles_of(count, kTileRows);
  for (const Part part : {kA, kM, kS}) {
    if (part != kA && lanes_ == 1) continue;
    T* const left = zeros(scratch.left[part], Offset{row_tiles} * kTileRows * cols);
    pack<kTileRows>(rows_, order_, part, first, count, left);
  }
  T* const right = zeros(scratch.right, Offset{kDepth} * kColumns);
  // With one lane a product is what is asked for.
  constexpr Offset kPart = Offset{kTilesAtOnce} * kColumns;
  T* const part_of_product =
      zeros(scratch.product, lanes_ == 1 ? 0 : row_tiles * kTileRows * kPart);
  const Offset stride = stride_of(limit);
  const Index tiles = tiles_of(limit, kColumns);
  for (Index tile = 0; tile < tiles; tile += kTilesAtOnce) {
    const Index end = std::min(tile + kTilesAtOnce, tiles);
    T* const product = lanes_ == 1 ? out + Offset{tile} * kColumns : part_of_product;
    const Offset product_stride = lanes_ == 1 ? stride : kPart;
    for (const Product& p : products_of(lanes_)) {
      for (Index k = 0; k < cols; k += kDepth) {
        const Index depth = std::min(kDepth, cols - k);
        for (Index t = tile; t < end; ++t) {
          const float* const panel = panels_[p.right == kM ? kM : kA].data();
          kernels::widen(panel + (Offset{t} * cols + k) * kColumns, Offset{depth} * kColumns,
                         p.right == kS, right);
          T* const c = product + Offset{t - tile} * kColumns;
          for (Index i = 0; i < row_tiles; ++i) {
            const T* const left = scratch.left[p.left].data() + (Offset{i} * cols + k) * kTileRows;
            kernels::multiply_tile(left, right, depth, c + i * kTileRows * product_stride,
                                   product_stride, k > 0);
          }
        }
      }
      if (lanes_ == 1) continue;
      const Index width = (end - tile) * kColumns;
      for (Index r = 0; r < count; ++r) {
        const T* const from = product + r * kPart;
        T* const to = out + r * stride + Offset{tile} * kColumns * lanes_ + p.lane;
        for (Index y = 0; y < width; ++y) to[Offset{y} * lanes_] = from[y];
      }
    }
  }
}

template class DensePairs<float>;
template class DensePairs<double>;

}  // namespace likewise
