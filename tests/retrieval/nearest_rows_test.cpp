// SPDX-License-Identifier: Apache-2.0
#include "retrieval/nearest_rows.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "backends/jobs/device_jobs.h"
#include "retrieval/knn_lists.h"
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

struct Known {
  Candidate one;
  Index common;
};

/// All neighbours of a row, by definition, from all similarities.
std::vector<Known> all_neighbours(const CsrView& rows, const float* similar, Index row) {
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
  return all;
}

/// Whether more common entries change the k nearest.
bool common_entries_decide(std::vector<Known> all, std::size_t k) {
  std::vector<Known> plain = all;
  std::ranges::sort(plain, before, &Known::one);
  all.resize(std::min(all.size(), k));
  plain.resize(std::min(plain.size(), k));
  return !std::ranges::equal(
      all, plain, {}, [](const Known& known) { return known.one.item; },
      [](const Known& known) { return known.one.item; });
}

struct TieCase {
  Similarity similarity;
  bool likes;  ///< all values 1, or whole numbers up to 3
  double shrinkage;
  double amplification;
  bool decided = true;  ///< by common entries, somewhere
};
void PrintTo(const TieCase& one, std::ostream* out) {
  *out << kSimilarityNames[static_cast<std::size_t>(one.similarity)]
       << (one.likes ? " likes" : " counts") << " shrinkage " << one.shrinkage << " amplification "
       << one.amplification;
}

/// Similarities of few values, so that most places are tied for; row 4 has none.
class SettledTies : public testing::Test {
 protected:
  static constexpr Index kRows = 30;

  [[nodiscard]] float similarity(Index a, Index b) const {
    return a == 4 || b == 4 || a == b ? 0.0F : static_cast<float>(1 + (a * 7 + b * b) % 3) / 4.0F;
  }
  [[nodiscard]] std::vector<Candidate> all_of(Index row) const {
    std::vector<Candidate> all;
    for (Index other = 0; other < kRows; ++other) {
      if (similarity(row, other) != 0.0F) all.push_back({similarity(row, other), other});
    }
    return all;
  }
  /// The `most` most similar, of equal ones the smaller row.
  [[nodiscard]] KnnLists found(Index most) const {
    std::vector<std::vector<Candidate>> lists;
    for (Index row = 0; row < kRows; ++row) {
      lists.push_back(all_of(row));
      std::ranges::stable_sort(lists.back(), std::ranges::greater{}, &Candidate::score);
      lists.back().resize(std::min(lists.back().size(), static_cast<std::size_t>(most)));
    }
    return pack_knn_lists(kRows, [&](Index row) {
      return std::span<const Candidate>(lists[static_cast<std::size_t>(row)]);
    });
  }
  [[nodiscard]] std::vector<std::vector<Index>> tied(const RowsWithTies& ties) const {
    std::vector<std::vector<Index>> result;
    for (std::size_t i = 0; i < ties.rows.size(); ++i) {
      std::vector<Candidate> all = all_of(ties.rows[i]);
      std::erase_if(all, [&](const Candidate& one) { return one.score != ties.similarities[i]; });
      keep_nearest(rows_.view().row_columns(ties.rows[i]), rows_.view(), all.size(), all);
      result.emplace_back();
      for (const Candidate& one : all) result.back().push_back(one.item);
    }
    return result;
  }

  CsrMatrix rows_ = test::random_csr(kRows, 12, 5.0, 6);
};

TEST_F(SettledTies, AreTheNearestOfAll) {
  for (const Index k : {1, 2, 5, 20, 28, 29, 40}) {
    const KnnLists settled = settle_ties(rows_.view(), found(k + 1), k,
                                         [&](const RowsWithTies& ties) { return tied(ties); });
    ASSERT_EQ(settled.size(), kRows);
    for (Index row = 0; row < kRows; ++row) {
      std::vector<Candidate> wanted = all_of(row);
      keep_nearest(rows_.view().row_columns(row), rows_.view(), static_cast<std::size_t>(k),
                   wanted);
      EXPECT_TRUE(std::ranges::equal(settled.rows_of(row), wanted, {}, {}, &Candidate::item))
          << "row " << row << ", k " << k;
      EXPECT_TRUE(
          std::ranges::equal(settled.similarities_of(row), wanted, {}, {}, &Candidate::score))
          << "row " << row << ", k " << k;
    }
  }
}

TEST_F(SettledTies, AreNoneOfNoRows) {
  EXPECT_EQ(settle_ties(CsrMatrix().view(), KnnLists(), 3, nullptr).size(), 0);
}

TEST_F(SettledTies, TooFewAreAnError) {
  EXPECT_THROW((void)settle_ties(rows_.view(), found(3), 2,
                                 [](const RowsWithTies& ties) {
                                   return std::vector<std::vector<Index>>(ties.rows.size());
                                 }),
               Error);
}

class NearestRowsOnDevice : public test::DeviceTest<TieCase> {};

/// Short rows, where most similarities are those of other rows, too; few columns, so that products
/// of dense rows are tried, and many.
TEST_P(NearestRowsOnDevice, TiesGoToMoreCommonEntriesThenToTheSmallerRow) {
  const TieCase& with = GetParam();
  bool differs = false;
  for (const Index columns : {25, 400}) {
    CsrMatrix values = test::random_csr(columns == 25 ? 150 : 300, columns, 4.0, 3);
    for (Offset e = 0; e < values.nnz(); ++e) {
      values.values[e] = with.likes ? 1.0F : static_cast<float>(1 + (e * e + e / 7) % 3);
    }
    for (const Side side : {Side::kUsers, Side::kItems}) {
      KnnParams params{.similarity = with.similarity, .keep_negative = true};
      params.shrinkage = with.shrinkage;
      params.amplification = with.amplification;
      params.side = side;
      const Biases none;
      const SimilarityProblem problem(values.view(), params, none);
      const auto search = job<KnnJob>(device()).make_search(problem);
      const Index rows = problem.rows().weights.rows;
      std::vector<float> similar(static_cast<std::size_t>(rows) * static_cast<std::size_t>(rows));
      search->similarities(problem.rows(), similar.data());
      for (const Index k : {1, 3, 10, rows - 1, rows + 5}) {
        const KnnLists found = search->find(k, {});
        for (Index row = 0; row < rows; ++row) {
          auto wanted =
              all_neighbours(problem.rows().weights, similar.data() + Offset{row} * rows, row);
          differs |= common_entries_decide(wanted, static_cast<std::size_t>(k));
          wanted.resize(std::min(wanted.size(), static_cast<std::size_t>(k)));
          const auto item = [](const Known& known) { return known.one.item; };
          const auto score = [](const Known& known) { return known.one.score; };
          ASSERT_TRUE(std::ranges::equal(found.rows_of(row), wanted, {}, {}, item))
              << columns << " columns, row " << row << ", k " << k;
          ASSERT_TRUE(std::ranges::equal(found.similarities_of(row), wanted, {}, {}, score))
              << columns << " columns, row " << row << ", k " << k;
        }
      }
    }
  }
  EXPECT_EQ(differs, with.decided);
}

// The product of likes is the number of common entries, and so is what their likelihood depends on
// besides the lengths of rows.
constexpr TieCase kTieCases[] = {{Similarity::kCosine, true, 0.0, 1.0},
                                 {Similarity::kCosine, false, 0.0, 1.0},
                                 {Similarity::kCosine, true, 2.0, 1.0},
                                 {Similarity::kCosine, true, 0.0, 0.5},
                                 {Similarity::kJaccard, true, 0.0, 1.0},
                                 {Similarity::kJaccard, false, 3.0, 1.0},
                                 {Similarity::kMsd, true, 0.0, 1.0},
                                 {Similarity::kMsd, false, 0.0, 1.0},
                                 {Similarity::kPearson, false, 0.0, 1.0},
                                 {Similarity::kConditional, true, 0.0, 1.0},
                                 {Similarity::kLogLikelihood, true, 0.0, 1.0, false},
                                 {Similarity::kDot, true, 0.0, 1.0, false},
                                 {Similarity::kDot, false, 0.0, 1.0}};
INSTANTIATE_TEST_SUITE_P(Cpu, NearestRowsOnDevice, testing::ValuesIn(kTieCases));
INSTANTIATE_TEST_SUITE_P(Cuda, NearestRowsOnDevice, testing::ValuesIn(kTieCases));

}  // namespace
}  // namespace likewise
