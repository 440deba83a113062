// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/dense_pairs.h"

#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace likewise {
namespace {

/// Nearly full; values with all the digits of float32, or small whole ones.
CsrMatrix nearly_full(Index rows, Index cols, bool whole) {
  std::mt19937 random(11);
  std::vector<Entry> entries;
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < cols; ++c) {
      if (random() % 10 == 0) continue;
      const auto value = static_cast<float>(random() % 7) - 3.0F;
      entries.push_back({r, c, whole ? value : value / 3.0F + 0.1F});
    }
  }
  return make_csr(rows, cols, entries);
}

/// One common entry after the other.
template <class T>
std::vector<T> sums_of(const CsrView& m, Index x, Index y, int lanes) {
  std::vector<T> sums(8);
  for (Offset i = m.offsets[x]; i < m.offsets[x + 1]; ++i) {
    for (Offset j = m.offsets[y]; j < m.offsets[y + 1]; ++j) {
      if (m.columns[i] != m.columns[j]) continue;
      const T a{m.values[i]};
      const T b{m.values[j]};
      const T terms[] = {T{1}, a, b, a * a, b * b, a * b};
      for (std::size_t t = 0; t < 6; ++t) sums[t] += terms[t];
    }
  }
  if (lanes == 1) return {sums[5]};
  if (lanes == 4) return {sums[0], sums[3], sums[4], sums[5]};
  return sums;
}

template <class T>
void check_sums(bool whole) {
  const CsrMatrix matrix = nearly_full(90, 300, whole);
  std::vector<Index> order(90);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[2], order[80]);
  for (const int lanes : {1, 4, 8}) {
    const DensePairs<T> pairs(matrix.view(), order, lanes);
    typename DensePairs<T>::Scratch scratch;
    Array<T> out(pairs.block_sums());
    for (const Index first : {0, 13, 77}) {
      const Index count = std::min<Index>(first == 0 ? 1 : 13, pairs.block_rows());
      const Index limit = first + count;
      pairs.add(first, count, limit, scratch, out.data());
      for (Index r = 0; r < count; ++r) {
        for (Index y = 0; y < limit; ++y) {
          const auto expected =
              sums_of<T>(matrix.view(), order[static_cast<std::size_t>(first + r)],
                         order[static_cast<std::size_t>(y)], lanes);
          const T* const at = out.data() + r * pairs.stride_of(limit) + Offset{y} * lanes;
          ASSERT_EQ(std::vector<T>(at, at + lanes), expected) << first + r << ", " << y;
        }
      }
    }
  }
}

TEST(DensePairs, AddUpWholeValuesInFloat) { check_sums<float>(true); }
TEST(DensePairs, AddUpAnyValuesInTheirOrder) { check_sums<double>(false); }

TEST(DensePairs, PayForNearlyFullMatricesOnly) {
  const CsrMatrix full = nearly_full(60, 50, true);
  EXPECT_TRUE(DensePairs<float>::pays(full.view(), 1));
  EXPECT_TRUE(DensePairs<double>::pays(full.view(), 8));
  std::vector<Entry> diagonal;
  for (Index r = 0; r < 60; ++r) diagonal.push_back({r, r % 50, 1.0F});
  const CsrMatrix sparse = make_csr(60, 50, diagonal);
  EXPECT_FALSE(DensePairs<float>::pays(sparse.view(), 1));
}

}  // namespace
}  // namespace likewise
