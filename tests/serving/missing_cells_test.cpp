// SPDX-License-Identifier: Apache-2.0
#include "serving/missing_cells.h"

#include <atomic>
#include <numeric>
#include <stdexcept>

#include <gtest/gtest.h>

#include "tests/support.h"

namespace likewise {
namespace {

constexpr Index kRows = 2500;  // of 1024 rows a block
constexpr Index kCols = 3;

TEST(MissingCells, RowsComeInTheirOrderOneAtATime) {
  const CsrMatrix known = test::random_csr(kRows, kCols, 1.5, 8);
  std::atomic<int> inside{0};
  Index next = 0;
  const PredictionTimes times =
      MissingCells(known.view(), kCols)
          .for_rows(
              Side::kUsers, kRows, {},
              [](std::span<const Index> rows, float* out) {
                EXPECT_FALSE(rows.empty());
                for (const Index row : rows) {
                  for (Index c = 0; c < kCols; ++c) *out++ = static_cast<float>(row * kCols + c);
                }
                return 0.0;
              },
              [&](Side side, Index row, std::span<const Index> others,
                  std::span<const float> values) {
                EXPECT_EQ(inside++, 0);
                EXPECT_EQ(side, Side::kUsers);
                EXPECT_EQ(row, next++);
                EXPECT_EQ(others.size() + known.view().row_columns(row).size(), std::size_t{kCols});
                for (std::size_t e = 0; e < others.size(); ++e) {
                  EXPECT_EQ(values[e], static_cast<float>(row * kCols + others[e]));
                }
                --inside;
              });
  EXPECT_EQ(next, kRows);
  EXPECT_GE(times.output, 0.0);
}

TEST(MissingCells, AFailureOfEitherHalfIsTheCallers) {
  const CsrMatrix known = test::random_csr(kRows, kCols, 1.5, 8);
  for (const bool of_take : {true, false}) {
    int blocks = 0;
    EXPECT_THROW((void)MissingCells(known.view(), kCols)
                     .for_rows(
                         Side::kUsers, kRows, {},
                         [&](std::span<const Index>, float*) {
                           if (!of_take && ++blocks == 2) throw std::runtime_error("no prediction");
                           return 0.0;
                         },
                         [&](Side, Index row, std::span<const Index>, std::span<const float>) {
                           if (of_take && row == 1500) throw std::runtime_error("no space");
                         }),
                 std::runtime_error);
  }
}

TEST(MissingCells, NoRowsAreNoWork) {
  int called = 0;
  (void)MissingCells({}, 4).for_rows(
      Side::kItems, 0, {},
      [&](std::span<const Index>, float*) {
        ++called;
        return 0.0;
      },
      [&](auto&&...) { ++called; });
  EXPECT_EQ(called, 0);
}

}  // namespace
}  // namespace likewise
