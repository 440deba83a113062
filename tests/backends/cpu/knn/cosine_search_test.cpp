// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/knn/cosine_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/kernels/cosine_pairs.h"
#include "backends/cpu/kernels/dense_tile.h"
#include "backends/cpu/knn/estimate_lists.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/control.h"
#include "likewise/device.h"
#include "likewise/knn.h"
#include "retrieval/top_k.h"
#include "tests/csr_entries.h"

namespace likewise {
namespace {

using test::Entry;
using test::make_csr;

/// A row of values; NaN where there is none.
using MakeValue = std::function<double(Index row, Index col)>;

CsrMatrix matrix_of(Index rows, Index cols, const MakeValue& value) {
  std::vector<Entry> entries;
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < cols; ++c) {
      const double v = value(r, c);
      if (!std::isnan(v)) entries.push_back({r, c, static_cast<float>(v)});
    }
  }
  return make_csr(rows, cols, entries);
}

/// Every pair in double precision, columns rising.
std::vector<Candidate> plain_list(const WeightedRows& rows, const PairFormula& formula, Index x,
                                  Index k) {
  const CsrView& m = rows.weights;
  std::vector<double> whole(static_cast<std::size_t>(m.cols));
  for (Offset e = m.offsets[x]; e < m.offsets[x + 1]; ++e) {
    whole[static_cast<std::size_t>(m.columns[e])] = double{m.values[e]};
  }
  std::vector<Candidate> list;
  for (Index y = 0; y < m.rows; ++y) {
    PairSums sums;
    for (Offset e = m.offsets[y]; e < m.offsets[y + 1]; ++e) {
      sums.xy += whole[static_cast<std::size_t>(m.columns[e])] * double{m.values[e]};
    }
    const float score = formula.similarity(rows.stats[static_cast<std::size_t>(x)],
                                           rows.stats[static_cast<std::size_t>(y)], sums);
    if (y != x && score != 0.0F) list.push_back({score, y});
  }
  std::ranges::sort(list, before);
  list.resize(std::min(list.size(), static_cast<std::size_t>(k)));
  return list;
}

/// Whether estimates are to be enough.
enum class Estimates { kEnough, kNotEnough };

void check_lists(const CsrMatrix& matrix, Similarity similarity, bool keep_negative, Index k,
                 Estimates estimates) {
  KnnParams params;
  params.side = Side::kUsers;
  params.similarity = similarity;
  params.keep_negative = keep_negative;
  const Biases no_baselines;
  const SimilarityProblem problem(matrix.view(), params, no_baselines);
  const WeightedRows rows = problem.rows();
  ASSERT_TRUE(can_estimate(problem.formula(), rows.stats));
  auto estimated = find_by_estimates(rows, problem.formula(), k, {});
  ASSERT_EQ(estimated.has_value(), estimates == Estimates::kEnough);
  const KnnLists found = estimated
                             ? std::move(*estimated)
                             : job<KnnJob>(open_device("cpu")).make_search(problem)->find(k, {});
  ASSERT_EQ(found.size(), matrix.rows);
  for (Index x = 0; x < matrix.rows; ++x) {
    const auto expected = plain_list(rows, problem.formula(), x, k);
    ASSERT_EQ(found.rows_of(x).size(), expected.size()) << "row " << x;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(found.rows_of(x)[i], expected[i].item) << "row " << x << ", place " << i;
      ASSERT_EQ(found.similarities_of(x)[i], expected[i].score) << "row " << x << ", place " << i;
    }
  }
}

void check_all_strategies(const CsrMatrix& matrix, Index k,
                          Estimates estimates = Estimates::kEnough) {
  for (const Similarity similarity : {Similarity::kCosine, Similarity::kPearsonFull}) {
    for (const bool negative : {false, true}) {
      SCOPED_TRACE(testing::Message() << "similarity " << static_cast<int>(similarity)
                                      << (negative ? ", negative kept" : ""));
      check_lists(matrix, similarity, negative, k, estimates);
    }
  }
}

/// Numbers in [-1, 1), the same for the same row and column.
double noise(Index row, Index col, int seed = 0) {
  std::mt19937 random(static_cast<unsigned>(row * 7919 + col + 104729 * seed));
  return static_cast<double>(random()) * 0x1p-31 - 1.0;
}

TEST(CosineSearch, FindsTheListsOfDoublePrecision) {
  const auto any = [](Index r, Index c) { return noise(r, c); };
  check_all_strategies(matrix_of(2, 1, any), 1);
  check_all_strategies(matrix_of(9, 300, any), 8);
  check_all_strategies(matrix_of(50, 129, any), 3);
  check_all_strategies(matrix_of(430, 37, any), 40);
  check_all_strategies(matrix_of(1000, 20, any), 400);
}

TEST(CosineSearch, TakesGapsEmptyAndConstantRows) {
  const CsrMatrix matrix = matrix_of(211, 70, [](Index r, Index c) {
    if (r % 7 == 3 || (r + c) % 11 == 0) return std::nan("");
    return r % 5 == 2 ? 3.0 : noise(r, c);
  });
  check_all_strategies(matrix, 30);
  check_all_strategies(matrix, 150);  // more than there are similar rows
}

/// More equal rows, or rows of nearly one direction, than a list has room for.
TEST(CosineSearch, TellsEqualRowsApartByTheirNumbers) {
  for (const double spread : {0.0, 1e-6}) {
    check_all_strategies(matrix_of(1300, 33,
                                   [=](Index r, Index c) {
                                     return r % 9 == 4 ? noise(0, c) + spread * noise(r, c)
                                                       : noise(r, c);
                                   }),
                         20);
    check_all_strategies(
        matrix_of(700, 33,
                  [=](Index r, Index c) { return noise(r % 3, c) + spread * noise(r, c); }),
        20, Estimates::kNotEnough);
  }
}

/// Orthogonal rows: estimates of nothing but rounding.
TEST(CosineSearch, DropsWhatIsNotSimilar) {
  check_all_strategies(
      matrix_of(256, 256,
                [](Index r, Index c) {
                  return std::popcount(static_cast<unsigned>(r & c)) % 2 == 0 ? 0.7 : -0.7;
                }),
      15, Estimates::kNotEnough);
  check_all_strategies(
      matrix_of(900, 40,
                [](Index r, Index c) { return r < 100 ? (c == r % 40 ? 1.0 : 0.0) : noise(r, c); }),
      60);
}

TEST(CosineSearch, DoesNotDependOnThreads) {
  const CsrMatrix matrix = matrix_of(330, 260, [](Index r, Index c) { return noise(r, c); });
  for (const int threads : {1, 2, 5}) {
    with_threads(threads, [&] { check_all_strategies(matrix, 9); });
  }
}

TEST(CosineSearch, TakesValuesOfAnySize) {
  check_all_strategies(matrix_of(160, 140,
                                 [](Index r, Index c) {
                                   return noise(r, c) * std::pow(10.0, 17.0 * noise(r, 0, 1)) *
                                          std::pow(10.0, 12.0 * noise(r, c, 2));
                                 }),
                       12);
}

TEST(CosineSearch, IsForPlainCosinesOfModerateNorms) {
  PairFormula formula;
  formula.form = PairForm::kCosine;
  const auto with_norms = [&](double a, double b) {
    return can_estimate(formula, std::vector<RowStats>{{a, 1.0}, {b, 1.0}});
  };
  EXPECT_TRUE(with_norms(1e-17, 1e29));
  EXPECT_TRUE(with_norms(0.0, 1.0));
  EXPECT_FALSE(with_norms(1.0, 1e-19));
  EXPECT_FALSE(with_norms(1.0, 1e31));
  formula.amplification = 2.0;
  EXPECT_FALSE(with_norms(1.0, 1.0));
  formula.amplification = 1.0;
  formula.sums = SumsNeeded::kSquares;
  EXPECT_FALSE(with_norms(1.0, 1.0));
  formula.sums = SumsNeeded::kProducts;
  formula.form = PairForm::kDot;
  EXPECT_FALSE(with_norms(1.0, 1.0));
}

/// Sums of rows that point the same way, where rounding is at its worst, in parts like the
/// search's.
TEST(CosineSearch, EstimatesAreWithinTheBound) {
  constexpr Index kWidth = kernels::kTileColumns<float>;
  constexpr Index kPart = 128;
  for (const Index cols : {1, 127, 128, 129, 1000, 20'000}) {
    std::vector<float> row(static_cast<std::size_t>(cols));
    Array<float> tile(Offset{cols} * kWidth);
    Array<float> out(Offset{kernels::kTileRows} * kWidth);
    double squares = 0.0;
    for (Index k = 0; k < cols; ++k) {
      row[static_cast<std::size_t>(k)] = static_cast<float>(1.3 + 0.3 * noise(0, k));
      squares += std::pow(double{row[static_cast<std::size_t>(k)]}, 2.0);
    }
    const auto factor = static_cast<float>(1.0 / std::sqrt(squares));
    for (Index k = 0; k < cols; ++k) {
      std::fill_n(tile.data() + Offset{k} * kWidth, kWidth,
                  row[static_cast<std::size_t>(k)] * factor);
    }
    for (Index k = 0; k < cols; k += kPart) {
      std::vector<const float*> rows(kernels::kTileRows, row.data() + k);
      kernels::multiply_rows(rows.data(), tile.data() + Offset{k} * kWidth,
                             std::min(kPart, cols - k), out.data(), kWidth, k > 0);
    }
    EXPECT_LE(std::abs(double{out[0]} * double{factor} - 1.0), bound_of_estimates(cols)) << cols;
    EXPECT_LT(bound_of_estimates(cols), 2e-5 * (1.0 + cols / 10'000.0));
    EXPECT_TRUE(std::ranges::all_of(out, [&](float sum) { return sum == out[0]; }));
  }
}

TEST(CosinePairs, FindWhatReaches) {
  Array<float> sums = Array<float>::copy_of(std::vector<float>(64, 1.0F));
  sums[3] = sums[15] = sums[16] = 4.0F;
  sums[63] = 3.0F;
  std::vector<Index> hits(80);
  ASSERT_EQ(kernels::scale_and_find(sums.data(), 64, 0.5F, 2.0F, hits.data()), 3);
  EXPECT_EQ((std::vector<Index>(hits.begin(), hits.begin() + 3)), (std::vector<Index>{3, 15, 16}));
  EXPECT_EQ(sums[63], 1.5F);
  std::vector<float> thresholds(64, 0.75F);
  thresholds[16] = 0.5F;
  thresholds[62] = 0.5F;
  thresholds[15] = 2.5F;
  ASSERT_EQ(kernels::find_reaching(sums.data(), thresholds.data(), 64, hits.data()), 4);
  EXPECT_EQ((std::vector<Index>(hits.begin(), hits.begin() + 4)),
            (std::vector<Index>{3, 16, 62, 63}));
}

TEST(CosinePairs, AddUpDotProducts) {
  std::vector<float> values(9 * 21);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 13) - 6.0F;
  for (const Index length : {0, 1, 8, 21}) {
    const float* rows[kernels::kDots];
    std::vector<double> sums(kernels::kDots, 100.0);
    std::vector<double> expected = sums;
    for (Index i = 0; i < kernels::kDots; ++i) {
      rows[i] = values.data() + 21 * (i + 1);
      for (Index k = 0; k < length; ++k) {
        expected[static_cast<std::size_t>(i)] +=
            double{values[static_cast<std::size_t>(k)]} * double{rows[i][k]};
      }
    }
    kernels::add_dots(values.data(), rows, length, sums.data());
    EXPECT_EQ(sums, expected) << length;
  }
}

TEST(EstimateLists, KeepTheBestAndWhatIsInReach) {
  for (const float error : {0.25F, 2.0F, 100.0F}) {
    EstimateLists lists(2, 2, -1.0F, error);
    for (Index i = 0; i < 997; ++i) {
      const Index place = i * 31 % 997;
      lists.offer(1, {static_cast<float>(place), place});
    }
    lists.offer(0, {-1.5F, 5});
    lists.offer(0, {-0.5F, 6});
    lists.offer(0, {std::nanf(""), 7});
    const auto one = lists.finish(0);
    ASSERT_EQ(one.size(), 1);
    EXPECT_EQ(one[0].item, 6);
    std::vector<Index> found;
    for (const Candidate& candidate : lists.finish(1)) found.push_back(candidate.item);
    std::ranges::sort(found);
    ASSERT_EQ(lists.overflowed(1), error == 100.0F);
    const std::vector<Index> best{991, 992, 993, 994, 995, 996};
    const std::ptrdiff_t count = error == 0.25F ? 2 : error == 2.0F ? 6 : 0;
    EXPECT_EQ(found, std::vector<Index>(best.end() - count, best.end()));
  }
}

TEST(EstimateLists, DoNotCountWhatMayBeNothing) {
  EstimateLists lists(1, 2, -1e6F, 0.5F);
  for (Index i = 0; i < 60; ++i) lists.offer(0, {i % 2 == 0 ? 0.25F : -0.25F, i});
  for (Index i = 60; i < 2000; ++i) lists.offer(0, {static_cast<float>(-i), i});
  EXPECT_EQ(lists.thresholds()[0], -62.0F);
  const auto found = lists.finish(0);
  EXPECT_EQ(found.size(), 63);
  EXPECT_TRUE(std::ranges::all_of(found, [](const Candidate& one) { return one.item <= 62; }));
}

}  // namespace
}  // namespace likewise
