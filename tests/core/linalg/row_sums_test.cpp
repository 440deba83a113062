// SPDX-License-Identifier: Apache-2.0
#include "core/linalg/row_sums.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/model_support.h"

namespace likewise::kernels {
namespace {

class RowSums : public testing::TestWithParam<Index> {
 protected:
  std::mt19937_64 random_{3};
  Matrix x_ = test::random_matrix(9, GetParam(), random_);
  std::vector<Index> rows_{4, 0, 8, 8, 3, 1, 7};
  std::vector<double> weights_{0.5, -1.25, 3.0, 1e-3, 0.1, 7.7, -0.3};

  /// In double precision, every product rounded.
  [[nodiscard]] double sum(Index column) const {
    double total = 0.0;
    for (std::size_t e = 0; e < rows_.size(); ++e) {
      const volatile double product = weights_[e] * double{x_.row(rows_[e])[column]};
      total += product;
    }
    return total;
  }
};

TEST_P(RowSums, InDoublePrecisionHaveTheBitsOfAPlainLoop) {
  std::vector<double> out(static_cast<std::size_t>(GetParam()) + 1, 99.0);
  sum_rows(rows_, weights_.data(), x_.view(), out.data());
  for (Index j = 0; j < GetParam(); ++j) EXPECT_EQ(out[static_cast<std::size_t>(j)], sum(j)) << j;
  EXPECT_EQ(out.back(), 99.0);
}

TEST_P(RowSums, InFloatsAreNearAndKeepThePaddingZero) {
  const std::vector<float> weights(weights_.begin(), weights_.end());
  Matrix out(2, GetParam());
  sum_rows(rows_, weights.data(), x_.view(), out.row(1));
  for (Index j = 0; j < out.stride(); ++j) {
    EXPECT_NEAR(out.row(1)[j], j < GetParam() ? sum(j) : 0.0, 1e-5) << j;
    EXPECT_EQ(out.row(0)[j], 0.0F);
  }
  sum_rows({}, weights.data(), x_.view(), out.row(1));
  for (Index j = 0; j < out.stride(); ++j) EXPECT_EQ(out.row(1)[j], 0.0F);
}

INSTANTIATE_TEST_SUITE_P(Columns, RowSums, testing::Values(1, 7, 16, 31, 64, 128, 129, 300));

}  // namespace
}  // namespace likewise::kernels
