// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/knn/dense_pairs.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/csr_entries.h"

namespace likewise {
namespace {

using test::Entry;
using test::make_csr;

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
  Offset j = m.offsets[y];
  for (Offset i = m.offsets[x]; i < m.offsets[x + 1]; ++i) {
    while (j < m.offsets[y + 1] && m.columns[j] < m.columns[i]) ++j;
    if (j == m.offsets[y + 1] || m.columns[j] != m.columns[i]) continue;
    const T a{m.values[i]};
    const T b{m.values[j]};
    const T terms[] = {T{1}, a, b, a * a, b * b, a * b};
    for (std::size_t t = 0; t < 6; ++t) sums[t] += terms[t];
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

/// A matrix with this share of its cells.
CsrMatrix filled(double share) {
  std::mt19937 random(3);
  std::vector<Entry> entries;
  for (Index r = 0; r < 80; ++r) {
    for (Index c = 0; c < 60; ++c) {
      if (static_cast<double>(random() % 1000) < 1000 * share) entries.push_back({r, c, 1.0F});
    }
  }
  return make_csr(80, 60, entries);
}

template <class T>
void check_boundary(int lanes) {
  const auto takes_dense = [&](double share) {
    return DensePairs<T>::cost(filled(share).view(), lanes).takes_dense();
  };
  ASSERT_FALSE(takes_dense(0.0));
  ASSERT_TRUE(takes_dense(1.0));
  double thin = 0.0;
  double full = 1.0;
  while (full - thin > 0.01) {
    const double middle = (thin + full) / 2;
    (takes_dense(middle) ? full : thin) = middle;
  }
  EXPECT_FALSE(takes_dense(0.5 * thin));
  EXPECT_FALSE(takes_dense(0.9 * thin));
  EXPECT_TRUE(takes_dense(std::min(1.0, 1.1 * full)));
}

TEST(DensePairs, PayFromSomeShareOfCellsOn) {
  for (const int lanes : {1, 4, 8}) {
    SCOPED_TRACE(lanes);
    check_boundary<float>(lanes);
    check_boundary<double>(lanes);
  }
}

TEST(KnnCost, IsSaid) {
  EXPECT_EQ(describe({.common = 4.54e9, .sparse = 1.6, .dense = 990.0}),
            "neighbours: 1.6 s by 4.54e+09 common entries, 990 s by GEMM; taken: common "
            "entries");
  EXPECT_EQ(describe({.common = 9e9, .sparse = 2.0, .dense = 0.25}),
            "neighbours: 2 s by 9e+09 common entries, 0.25 s by GEMM; taken: GEMM");
  constexpr double kNever = std::numeric_limits<double>::infinity();
  EXPECT_EQ(describe({.common = 8.0, .sparse = 1e-5, .dense = kNever}),
            "neighbours: 1e-05 s by 8 common entries");
}

}  // namespace
}  // namespace likewise
