// SPDX-License-Identifier: Apache-2.0
#include "core/linalg/half_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/model_support.h"

namespace likewise::kernels {
namespace {

class HalfPanel : public testing::TestWithParam<Index> {
 protected:
  static constexpr Index kRows = 11;

  std::mt19937_64 random_{3};
  Matrix x_ = test::random_matrix(kRows, GetParam(), random_);
  std::vector<Index> rows_{4, 0, 8, 8, 3, 10, 7};
  std::vector<float> weights_{0.5F, -1.25F, 3.0F, 1e-3F, 0.1F, 7.7F, -0.3F};
  Array<std::uint16_t> panel_{Offset{kRows} * kHalfColumns};
  std::vector<float> largest_ = std::vector<float>(kRows);

  void pack(Index first) {
    pack_halves(x_.view(), first, 0, 5, 16.0F, panel_.data(), largest_.data());
    pack_halves(x_.view(), first, 5, kRows, 16.0F, panel_.data(), largest_.data());
  }
};

TEST_P(HalfPanel, SumsAreNear) {
  const Offset count = 6;  // the last row is fetched only
  for (Index first = 0; first < GetParam(); first += kHalfColumns) {
    pack(first);
    alignas(64) float out[kHalfColumns];
    const float best = sum_half_rows(rows_, count, weights_.data(), panel_.data(), out);
    float largest = out[0];
    for (const float sum : out) largest = std::max(largest, sum);
    EXPECT_EQ(best, largest);
    for (Index j = first; j < std::min(first + kHalfColumns, GetParam()); ++j) {
      double sum = 0.0;
      double size = 0.0;
      for (std::size_t e = 0; e < count; ++e) {
        const double product = 16.0 * weights_[e] * double{x_.row(rows_[e])[j]};
        sum += product;
        size += std::abs(product);
      }
      EXPECT_NEAR(out[j - first], sum, size * 0x1p-11 * 1.01 + 1e-7) << j;
    }
  }
}

TEST_P(HalfPanel, PackingFindsTheLargestSizes) {
  for (Index first = 0; first < GetParam(); first += kHalfColumns) pack(first);
  for (Index i = 0; i < kRows; ++i) {
    float largest = 0.0F;
    for (const float x : x_.row_span(i)) largest = std::max(largest, std::abs(x));
    EXPECT_EQ(largest_[static_cast<std::size_t>(i)], largest) << i;
  }
}

TEST_P(HalfPanel, NoRowsAddUpToZero) {
  pack(0);
  alignas(64) float out[kHalfColumns];
  EXPECT_EQ(sum_half_rows(rows_, 0, nullptr, panel_.data(), out), 0.0F);
  for (const float sum : out) EXPECT_EQ(sum, 0.0F);
}

INSTANTIATE_TEST_SUITE_P(Columns, HalfPanel, testing::Values(1, 16, 100, 128, 129, 300));

}  // namespace
}  // namespace likewise::kernels
