// SPDX-License-Identifier: Apache-2.0
#include "search/nearest_rows.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "backends/jobs/device_jobs.h"
#include "tests/backends/device_test.h"
#include "tests/support.h"

namespace likewise {
namespace {

TEST(NearestRows, CountsCommonEntries) {
  const auto count = [](const std::vector<Index>& a, const std::vector<Index>& b) {
    return common_entries(a, b);
  };
  EXPECT_EQ(count({}, {}), 0);
  EXPECT_EQ(count({1, 2}, {}), 0);
  EXPECT_EQ(count({1, 2, 5}, {0, 2, 3, 5, 9}), 2);
  EXPECT_EQ(count({7}, {7}), 1);
  EXPECT_EQ(count({1, 3}, {2, 4}), 0);
}

/// The order by its definition, from all similarities.
std::vector<Candidate> by_definition(const SimilarityProblem& problem, const float* similar,
                                     Index row, std::size_t k) {
  const CsrView rows = problem.rows().weights;
  struct Known {
    Candidate one;
    Index common;
  };
  std::vector<Known> all;
  for (Index y = 0; y < rows.rows; ++y) {
    if (y == row || similar[y] == 0.0F) continue;
    std::vector<Index> common;
    std::ranges::set_intersection(rows.row_columns(row), rows.row_columns(y),
                                  std::back_inserter(common));
    all.push_back({{similar[y], y}, static_cast<Index>(common.size())});
  }
  std::ranges::sort(all, [](const Known& a, const Known& b) {
    if (a.one.score != b.one.score) return a.one.score > b.one.score;
    return a.common != b.common ? a.common > b.common : a.one.item < b.one.item;
  });
  std::vector<Candidate> result;
  for (const Known& known : all) result.push_back(known.one);
  result.resize(std::min(result.size(), k));
  return result;
}

class NearestRowsOnDevice : public test::DeviceTest<Similarity> {};

/// Short rows of likes, where most similarities are those of other rows, too.
TEST_P(NearestRowsOnDevice, TiesGoToMoreCommonEntriesThenToTheSmallerRow) {
  CsrMatrix likes = test::random_csr(150, 25, 4.0, 3);
  std::ranges::fill(likes.values, 1.0F);
  const NeighbourParams params{.similarity = GetParam(), .keep_negative = true};
  const Baselines none;
  bool differs = false;
  for (const Side side : {Side::kUsers, Side::kItems}) {
    NeighbourParams of_side = params;
    of_side.side = side;
    const SimilarityProblem problem(likes.view(), of_side, none);
    const auto search = job<NeighbourJob>(device()).make_search(problem);
    const Index rows = problem.rows().weights.rows;
    std::vector<float> similar(static_cast<std::size_t>(rows) * static_cast<std::size_t>(rows));
    search->similarities(problem.rows(), similar.data());
    for (const Index k : {1, 3, 10, rows - 1, rows + 5}) {
      const Neighbours found = find_nearest(problem, *search, k, {});
      const Neighbours plain = search->find(k, {});
      for (Index row = 0; row < rows; ++row) {
        const auto wanted = by_definition(problem, similar.data() + Offset{row} * rows, row,
                                          static_cast<std::size_t>(k));
        ASSERT_TRUE(std::ranges::equal(found.rows_of(row), wanted, {}, {}, &Candidate::item))
            << "row " << row << ", k " << k;
        ASSERT_TRUE(
            std::ranges::equal(found.similarities_of(row), wanted, {}, {}, &Candidate::score))
            << "row " << row << ", k " << k;
        differs |= !std::ranges::equal(found.rows_of(row), plain.rows_of(row));
      }
    }
  }
  // The product of likes is the number of common entries, which leaves nothing to decide.
  EXPECT_EQ(differs, GetParam() != Similarity::kDot);
}

constexpr Similarity kSome[] = {Similarity::kCosine, Similarity::kJaccard, Similarity::kMsd,
                                Similarity::kConditional, Similarity::kDot};
INSTANTIATE_TEST_SUITE_P(Cpu, NearestRowsOnDevice, testing::ValuesIn(kSome));
INSTANTIATE_TEST_SUITE_P(Cuda, NearestRowsOnDevice, testing::ValuesIn(kSome));

}  // namespace
}  // namespace likewise
