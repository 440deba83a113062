// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/dense_pairs.h"

#include <algorithm>

#include "backends/cpu/kernels/dense_tile.h"
#include "core/parallel.h"

namespace likewise {
namespace {

using kernels::kTileColumns;
using kernels::kTileRows;

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
constexpr double kSecondsOfEntry = 0.6e-9;
constexpr double kSecondsOfWideEntry = 1.7e-9;
template <class T>
constexpr double kSecondsOfOperation = sizeof(T) == 4 ? 1e-11 : 2e-11;

/// Rows that share a product; all their columns stay in the second cache.
constexpr Index kBlockRows = 64;
/// Sums that a block may make, however many rows there are.
constexpr Offset kBlockSums = Offset{1} << 23;
/// Columns that are added up before the next tile: they and the tile stay in the first cache.
constexpr Index kDepth = 128;
/// Tiles that share a depth of the block's rows.
constexpr Index kTilesAtOnce = 4;

[[nodiscard]] constexpr Index up_to_multiple(Index count, Index of) {
  return (count + of - 1) / of * of;
}

}  // namespace

template <class T>
bool DensePairs<T>::pays(const CsrView& rows, double pairs, int lanes) {
  const double cells = static_cast<double>(rows.rows) * rows.rows / 2.0 * rows.cols;
  const double dense = 2.0 * cells * static_cast<double>(products_of(lanes).size());
  return dense * kSecondsOfOperation<T> <
         pairs * (lanes == 1 ? kSecondsOfEntry : kSecondsOfWideEntry);
}

template <class T>
DensePairs<T>::DensePairs(const CsrView& rows, std::span<const Index> order, int lanes)
    : rows_(rows), order_(order), lanes_(lanes) {
  for (const Part part : {kWeights, kPattern, kSquares}) {
    if (has(part)) panels_[part] = pack<kTileColumns<T>>(part, 0, rows.rows);
  }
}

template <class T>
template <Index kWidth>
Array<T> DensePairs<T>::pack(Part part, Index first, Index count) const {
  const Offset of_tile = Offset{rows_.cols} * kWidth;
  const Index tiles = up_to_multiple(count, kWidth) / kWidth;
  Array<T> packed(tiles * of_tile);
  parallel_for(tiles, 1, [&](Offset tile) {
    const auto begin = static_cast<Index>(tile) * kWidth;
    for (Index r = begin; r < std::min(begin + kWidth, count); ++r) {
      const Index row = order_[static_cast<std::size_t>(first + r)];
      T* const to = packed.data() + tile * of_tile + r - begin;
      for (Offset e = rows_.offsets[row]; e < rows_.offsets[row + 1]; ++e) {
        const T a{rows_.values[e]};
        to[Offset{rows_.columns[e]} * kWidth] = part == kWeights   ? a
                                                : part == kPattern ? T{1}
                                                                   : a * a;
      }
    }
  });
  return packed;
}

template <class T>
Index DensePairs<T>::block_rows() const {
  const Offset fit = kBlockSums / std::max<Offset>(1, stride_of(rows_.rows));
  return static_cast<Index>(std::clamp<Offset>(fit, kTileRows, kBlockRows));
}

template <class T>
Offset DensePairs<T>::block_sums() const {
  return up_to_multiple(block_rows(), kTileRows) * stride_of(rows_.rows);
}

template <class T>
Offset DensePairs<T>::stride_of(Index limit) const {
  return Offset{up_to_multiple(limit, kTileColumns<T>)} * lanes_;
}

template <class T>
void DensePairs<T>::add(Index first, Index count, Index limit, T* out) const {
  constexpr Index kColumns = kTileColumns<T>;
  const Index cols = rows_.cols;
  Array<T> left[3];
  for (const Part part : {kWeights, kPattern, kSquares}) {
    if (has(part)) left[part] = pack<kTileRows>(part, first, count);
  }
  const Index row_tiles = up_to_multiple(count, kTileRows) / kTileRows;
  const Index tiles = up_to_multiple(limit, kColumns) / kColumns;
  const Offset stride = stride_of(limit);
  // With one lane a product is what is asked for.
  constexpr Offset kPart = Offset{kTilesAtOnce} * kColumns;
  Array<T> part_of_product(lanes_ == 1 ? 0 : row_tiles * kTileRows * kPart);
  for (Index tile = 0; tile < tiles; tile += kTilesAtOnce) {
    const Index end = std::min(tile + kTilesAtOnce, tiles);
    T* const product = lanes_ == 1 ? out + Offset{tile} * kColumns : part_of_product.data();
    const Offset product_stride = lanes_ == 1 ? stride : kPart;
    for (const Product& p : products_of(lanes_)) {
      for (Index k = 0; k < cols; k += kDepth) {
        for (Index t = tile; t < end; ++t) {
          const T* const b = panels_[p.right].data() + (Offset{t} * cols + k) * kColumns;
          for (Index i = 0; i < row_tiles; ++i) {
            kernels::multiply_tile(
                left[p.left].data() + (Offset{i} * cols + k) * kTileRows, b,
                std::min(kDepth, cols - k),
                product + i * kTileRows * product_stride + Offset{t - tile} * kColumns,
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
