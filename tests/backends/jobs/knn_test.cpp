// SPDX-License-Identifier: Apache-2.0
/// Every device finds the lists of the reference, bit-identical: sums are added up in the same
/// order, or exactly.
#include "likewise/knn.h"

#include <cmath>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "algorithms/bias/bias.h"
#include "algorithms/knn/similarity.h"
#include "backends/jobs/device_jobs.h"
#include "tests/backends/device_test.h"
#include "tests/csr_entries.h"
#include "tests/support.h"

namespace likewise {
namespace {

using test::Entry;
using test::make_csr;

constexpr Similarity kAll[] = {Similarity::kCosine,
                               Similarity::kAdjustedCosine,
                               Similarity::kPearson,
                               Similarity::kPearsonFull,
                               Similarity::kPearsonBaseline,
                               Similarity::kMsd,
                               Similarity::kJaccard,
                               Similarity::kTfidf,
                               Similarity::kBm25,
                               Similarity::kLogLikelihood,
                               Similarity::kConditional,
                               Similarity::kDot,
                               Similarity::kRp3};

void expect_same(const KnnLists& a, const KnnLists& b) {
  ASSERT_EQ(a.size(), b.size());
  for (Index row = 0; row < a.size(); ++row) {
    ASSERT_TRUE(std::ranges::equal(a.rows_of(row), b.rows_of(row))) << "row " << row;
    ASSERT_TRUE(std::ranges::equal(a.similarities_of(row), b.similarities_of(row)))
        << "row " << row;
  }
}

/// Empty rows and columns, one column that everybody has, constant rows, values of a kind; a row
/// with half of all columns in the middle.
CsrMatrix awkward(Index rows, Index cols, double per_row, bool whole_values, std::uint64_t seed) {
  CsrMatrix m = test::random_csr(rows, cols, per_row, seed);
  std::mt19937_64 random(seed);
  std::vector<Entry> entries;
  for (Index r = 0; r < rows; ++r) {
    if (r % 7 == 3) continue;
    entries.push_back({r, 0, 2.0F});
    if (r > 0 && r == rows / 2) {
      for (Index c = 2; c < cols; c += 2) entries.push_back({r, c, static_cast<float>(c % 5 + 1)});
      continue;
    }
    for (Offset e = m.offsets[r]; e < m.offsets[r + 1]; ++e) {
      if (m.columns[e] == 0 || m.columns[e] == cols - 1) continue;
      const float value = whole_values ? m.values[e] : m.values[e] + 0.001F * (random() % 1000);
      entries.push_back({r, m.columns[e], r % 5 == 2 ? 3.0F : value});
    }
  }
  return make_csr(rows, cols, entries);
}

[[nodiscard]] bool exists(Feedback feedback, Similarity similarity) {
  return feedback == Feedback::kExplicit || similarity != Similarity::kPearsonBaseline;
}

[[nodiscard]] KnnParams params_of(Feedback feedback, Side side, Similarity similarity,
                                  int neighbours, int variant) {
  KnnParams params;
  params.feedback = feedback;
  params.side = side;
  params.similarity = similarity;
  params.neighbours = neighbours;
  params.keep_negative = variant > 0;
  if (variant < 2) return params;
  params.min_support = 2;
  params.shrinkage = 3.0;
  params.amplification = 1.5;
  params.centring = Side::kItems;
  return params;
}

/// check(params) for both kinds of feedback and both sides: plain, with negative similarities, with
/// every option.
template <class Check>
void for_each_strategy(Similarity similarity, int neighbours, const Check& check) {
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    if (!exists(feedback, similarity)) continue;
    for (const Side side : {Side::kUsers, Side::kItems}) {
      for (const int variant : {0, 1, 2}) {
        SCOPED_TRACE(testing::Message()
                     << side_name(side) << ", variant " << variant
                     << (feedback == Feedback::kExplicit ? ", explicit" : ", implicit"));
        check(params_of(feedback, side, similarity, neighbours, variant));
      }
    }
  }
}

class KnnOnDevice : public test::DeviceTest<Similarity> {
 protected:
  static void check_lists(const CsrView& matrix, int neighbours) {
    const auto reference = open_device("reference");
    for_each_strategy(GetParam(), neighbours, [&](const KnnParams& params) {
      expect_same(train_knn(matrix, params, device()).neighbours,
                  train_knn(matrix, params, reference).neighbours);
    });
  }
};

class ManyKnnOnDevice : public KnnOnDevice {};

TEST_P(KnnOnDevice, EqualTheReferenceOnAwkwardMatrices) {
  check_lists(make_csr(0, 0, {}).view(), 3);
  check_lists(make_csr(1, 1, {}).view(), 3);
  check_lists(awkward(1, 4, 2.0, true, 1).view(), 3);
  check_lists(awkward(2, 9, 5.0, false, 2).view(), 1);
  check_lists(awkward(37, 90, 11.0, false, 4).view(), 1000);
  check_lists(awkward(300, 40, 3.0, true, 5).view(), 17);
  check_lists(awkward(40, 700, 30.0, false, 6).view(), 10);
}

/// Nearly full: the CPU takes dense products here, in blocks and panels with remainders.
TEST_P(KnnOnDevice, EqualTheReferenceOnFullMatrices) {
  check_lists(awkward(270, 18, 17.0, true, 7).view(), 5);
  check_lists(awkward(19, 270, 250.0, true, 8).view(), 12);
  check_lists(awkward(130, 31, 29.0, false, 9).view(), 7);
}

TEST_P(KnnOnDevice, EqualTheReferenceOnFewRows) {
  check_lists(awkward(61, 37, 6.0, true, 3).view(), 5);
  check_lists(awkward(23, 50, 9.0, false, 7).view(), 30);
}

/// Rows so much longer than the others that a GPU compares them in parts.
TEST_P(KnnOnDevice, EqualTheReferenceWhereFewRowsAreLong) {
  std::vector<Entry> entries;
  for (Index row = 0; row < 40; ++row) {
    for (Index column = row % 3; column < 9000; column += row + 1) {
      entries.push_back({row, column, static_cast<float>(1 + (column + row) % 5)});
    }
  }
  const CsrMatrix matrix = make_csr(40, 9000, entries);
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    if (!exists(feedback, GetParam())) continue;
    const KnnParams params = params_of(feedback, Side::kUsers, GetParam(), 7, 1);
    expect_same(train_knn(matrix.view(), params, device()).neighbours,
                train_knn(matrix.view(), params, open_device("reference")).neighbours);
  }
}

/// A correlation about baselines needs two common entries, whatever the shrinkage.
TEST_P(KnnOnDevice, OneCommonEntryIsNoCorrelation) {
  if (GetParam() != Similarity::kPearsonBaseline) GTEST_SKIP() << "divides by N - 1 alone";
  const CsrMatrix matrix = make_csr(4, 5,
                                    std::vector<Entry>{{0, 0, 5.0F},
                                                       {0, 1, 1.0F},
                                                       {0, 4, 2.0F},
                                                       {1, 0, 4.0F},
                                                       {1, 2, 1.0F},
                                                       {2, 1, 2.0F},
                                                       {2, 4, 5.0F},
                                                       {3, 3, 3.0F}});
  KnnParams params = params_of(Feedback::kExplicit, Side::kUsers, GetParam(), 3, 1);
  for (const double shrinkage : {0.0, 1.0, 100.0}) {
    params.shrinkage = shrinkage;
    const KnnLists found = train_knn(matrix.view(), params, device()).neighbours;
    EXPECT_TRUE(found.rows_of(1).empty()) << shrinkage;
    EXPECT_TRUE(found.rows_of(3).empty()) << shrinkage;
    EXPECT_TRUE(std::ranges::equal(found.rows_of(0), std::vector<Index>{2})) << shrinkage;
  }
}

/// Rows that say nothing about each other: half of all columns, and every second one; values about
/// the same mean, crossed. Rounding leaves something, which is no similarity.
TEST_P(KnnOnDevice, RoundingMakesNoNeighbours) {
  const bool by_chance =
      GetParam() == Similarity::kLogLikelihood || GetParam() == Similarity::kPearson;
  if (!by_chance) GTEST_SKIP() << "compares what rows share, not what they share beyond chance";
  for (const Index half : {2, 6, 10, 14, 22, 30, 42, 66}) {
    std::vector<Entry> entries;
    for (Index c = 0; c < 2 * half; ++c) {
      const bool first = c < half;
      const bool even = c % 2 == 0;
      const bool of_counts = GetParam() == Similarity::kLogLikelihood;
      if (!of_counts || first) entries.push_back({0, c, first ? 0.3F : 0.1F});
      if (!of_counts || even) entries.push_back({1, c, even ? 0.7F : 0.1F});
      // A column counts where somebody has it. What has all of them shares all by chance.
      if (of_counts) entries.push_back({2, c, 1.0F});
    }
    const CsrMatrix matrix = make_csr(3, 2 * half, entries);
    for (const Device& each : {open_device("reference"), device()}) {
      KnnParams params = params_of(Feedback::kExplicit, Side::kUsers, GetParam(), 3, 1);
      const KnnLists found = train_knn(matrix.view(), params, each).neighbours;
      EXPECT_EQ(found.rows.size(), 0) << half << ": " << found.similarities[0];
    }
  }
}

/// A small matrix of whole numbers, and what a similarity is of them in whole numbers.
struct WholeNumbers {
  static constexpr Index kSize = 8;
  static constexpr int kAllCounts = 840;  ///< a multiple of 1, 2, ..., kSize
  int value[kSize][kSize] = {};           ///< 0: missing

  WholeNumbers(std::uint64_t seed, bool dislikes) {
    std::mt19937_64 random(seed);
    for (auto& row : value) {
      for (int& one : row) {
        if (random() % 10 >= 7) continue;
        one = static_cast<int>(random() % (dislikes ? 3 : 5)) + 1;
        if (dislikes && random() % 2 == 0) one = -one;
      }
    }
  }
  [[nodiscard]] CsrMatrix matrix(float unit) const {
    std::vector<Entry> entries;
    for (Index r = 0; r < kSize; ++r) {
      for (Index c = 0; c < kSize; ++c) {
        if (value[r][c] != 0) entries.push_back({r, c, static_cast<float>(value[r][c]) * unit});
      }
    }
    return make_csr(kSize, kSize, entries);
  }
  /// kAllCounts (r - mean), or kAllCounts r where nothing is centred.
  [[nodiscard]] long weight(Index r, Index c, std::optional<Side> centred) const {
    if (!centred || value[r][c] == 0) return long{kAllCounts} * value[r][c];
    long sum = 0;
    long count = 0;
    for (Index k = 0; k < kSize; ++k) {
      const int other = centred == Side::kUsers ? value[r][k] : value[k][c];
      sum += other;
      count += other != 0 ? 1 : 0;
    }
    return kAllCounts * value[r][c] - kAllCounts / count * sum;
  }
  /// The sign of the similarity of two rows: of a product of weights, or of a covariance.
  [[nodiscard]] int sign(Index x, Index y, std::optional<Side> centred, bool covariance) const {
    long n = 0, a = 0, b = 0, aa = 0, bb = 0, ab = 0;
    for (Index c = 0; c < kSize; ++c) {
      if (value[x][c] == 0 || value[y][c] == 0) continue;
      const long of_x = weight(x, c, centred);
      const long of_y = weight(y, c, centred);
      n += 1, a += of_x, b += of_y, aa += of_x * of_x, bb += of_y * of_y, ab += of_x * of_y;
    }
    const bool undefined = covariance && (n * aa == a * a || n * bb == b * b);
    const long product = covariance ? n * ab - a * b : ab;
    return undefined || product == 0 ? 0 : product > 0 ? 1 : -1;
  }
};

/// A similarity is 0 where exact arithmetic says so, and only there: of whole numbers, and of
/// tenths and thirds, which float32 rounds.
TEST_P(KnnOnDevice, AreSimilarExactlyWhereTheyAre) {
  const Similarity similarity = GetParam();
  const bool centring =
      similarity == Similarity::kPearsonFull || similarity == Similarity::kAdjustedCosine;
  const bool dislikes = similarity == Similarity::kCosine || similarity == Similarity::kDot;
  const bool covariance = similarity == Similarity::kPearson;
  if (!centring && !dislikes && !covariance) GTEST_SKIP() << "not of whole numbers";
  const Device devices[] = {open_device("reference"), device()};
  int zeros = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const WholeNumbers numbers(seed, dislikes);
    const CsrMatrix matrix = numbers.matrix(seed % 3 == 0 ? 1.0F : seed % 3 == 1 ? 0.1F : 1 / 3.0F);
    for (const Side centre : {Side::kUsers, Side::kItems}) {
      const auto feedback = centre == Side::kUsers ? Feedback::kExplicit : Feedback::kImplicit;
      KnnParams params = params_of(feedback, Side::kUsers, similarity, 8, 1);
      params.centring = centre;
      const bool by_row = similarity == Similarity::kPearsonFull || centre == Side::kUsers;
      const auto centred =
          centring ? std::optional(by_row ? Side::kUsers : Side::kItems) : std::nullopt;
      for (const Device& each : devices) {
        const KnnLists found = train_knn(matrix.view(), params, each).neighbours;
        for (Index x = 0; x < numbers.kSize; ++x) {
          int signs[WholeNumbers::kSize] = {};
          const auto rows = found.rows_of(x);
          for (std::size_t e = 0; e < rows.size(); ++e) {
            signs[rows[e]] = found.similarities_of(x)[e] > 0.0F ? 1 : -1;
          }
          for (Index y = 0; y < numbers.kSize; ++y) {
            if (x == y) continue;
            const int expected = numbers.sign(x, y, centred, covariance);
            zeros += expected == 0 ? 1 : 0;
            ASSERT_EQ(signs[y], expected) << "seed " << seed << ", rows " << x << " and " << y;
          }
        }
      }
    }
  }
  EXPECT_GT(zeros, 100);
}

/// All values alike, except for rounding: nothing tells rows from each other.
TEST_P(KnnOnDevice, ValuesThatAreAlikeMakeNoNeighbours) {
  if (GetParam() != Similarity::kPearson && GetParam() != Similarity::kPearsonFull &&
      GetParam() != Similarity::kAdjustedCosine && GetParam() != Similarity::kPearsonBaseline) {
    GTEST_SKIP() << "compares values as they are";
  }
  for (const float value : {3.0F, 0.1F, 1234.567F, 1e-40F}) {
    CsrMatrix matrix = test::random_csr(40, 30, 12.0, 3);
    for (float& one : matrix.values) one = value;
    for (const bool one_differs : {false, true}) {
      if (one_differs && value < 1e-38F) continue;  // it has few digits: the next is far away
      if (one_differs) matrix.values[17] = std::nextafter(value, 2.0F * value);
      for (const Side side : {Side::kUsers, Side::kItems}) {
        for (const Device& each : {open_device("reference"), device()}) {
          KnnParams params = params_of(Feedback::kExplicit, side, GetParam(), 5, 1);
          const KnnLists found = train_knn(matrix.view(), params, each).neighbours;
          EXPECT_EQ(found.rows.size(), 0) << value << (one_differs ? ", one is not" : "");
        }
      }
    }
  }
}

TEST_P(KnnOnDevice, CompareOutsideRows) {
  const auto reference = open_device("reference");
  for (const bool whole : {true, false}) {
    const CsrMatrix known = awkward(90, 60, 9.0, whole, 8);
    const CsrMatrix outside = awkward(8, 60, 12.0, false, 9);
    for_each_strategy(GetParam(), 5, [&](KnnParams params) {
      params.side = Side::kUsers;
      const Biases biases = train_biases(known.view(), params.bias_params());
      const SimilarityProblem problem(known.view(), params, biases);
      CsrMatrix weighed = outside.clone();
      std::vector<RowStats> stats;
      for (Index r = 0; r < outside.rows; ++r) {
        const auto values = outside.view().row_values(r);
        const std::span<float> weights(weighed.values.data() + outside.offsets[r], values.size());
        stats.push_back(problem.weigh(0.25, outside.view().row_columns(r), values, weights));
      }
      const WeightedRows queries{weighed.view(), stats};
      std::vector<float> found(8 * 90);
      std::vector<float> expected(8 * 90);
      job<KnnJob>(device()).make_search(problem)->similarities(queries, found.data());
      job<KnnJob>(reference).make_search(problem)->similarities(queries, expected.data());
      EXPECT_EQ(found, expected);
    });
  }
}

// More rows than a GPU's blocks hold at a time, and lists longer than they hold. The reference
// would take minutes: the CPU stands for it.
TEST_P(ManyKnnOnDevice, EqualTheCpu) {
  const auto cpu = open_device("cpu");
  for (const bool whole : {true, false}) {
    const CsrMatrix matrix = awkward(14'000, 150, 5.0, whole, 10);
    for (const int neighbours : {20, 1500}) {
      const KnnParams params = params_of(Feedback::kExplicit, Side::kUsers, GetParam(), neighbours,
                                         neighbours == 20 ? 0 : 2);
      SCOPED_TRACE(testing::Message() << neighbours << (whole ? ", whole values" : ""));
      expect_same(train_knn(matrix.view(), params, device()).neighbours,
                  train_knn(matrix.view(), params, cpu).neighbours);
    }
  }
}

/// Rows are numbered in 16 bits where that is enough.
TEST(KnnSearch, DoesNotDependOnEmptyRows) {
  const auto cpu = open_device("cpu");
  const CsrMatrix few = awkward(200, 50, 6.0, true, 7);
  CsrMatrix many = few.clone();
  many.rows = 70'000;
  many.offsets = Array<Offset>(Offset{many.rows} + 1);
  for (Index row = 0; row <= many.rows; ++row) {
    many.offsets[row] = few.offsets[std::min(row, few.rows)];
  }
  for (const Similarity similarity : {Similarity::kCosine, Similarity::kPearson}) {
    KnnParams params;
    params.side = Side::kUsers;
    params.similarity = similarity;
    const KnnLists expected = train_knn(few.view(), params, cpu).neighbours;
    const KnnLists found = train_knn(many.view(), params, cpu).neighbours;
    ASSERT_EQ(found.size(), many.rows);
    ASSERT_TRUE(std::ranges::equal(found.rows.span(), expected.rows.span()));
    ASSERT_TRUE(std::ranges::equal(found.similarities.span(), expected.similarities.span()));
  }
}

TEST(KnnSearch, DoesNotDependOnThreads) {
  const auto cpu = open_device("cpu");
  const CsrMatrix matrix = awkward(900, 300, 25.0, false, 8);
  for (const Similarity similarity : {Similarity::kBm25, Similarity::kPearson}) {
    KnnParams params;
    params.similarity = similarity;
    params.neighbours = 7;
    const KnnLists whole = train_knn(matrix.view(), params, cpu).neighbours;
    for (const int threads : {1, 3}) {
      with_threads(threads,
                   [&] { expect_same(train_knn(matrix.view(), params, cpu).neighbours, whole); });
    }
  }
}

/// What the formulas give on paper.
TEST(KnnSearch, SimilaritiesByHand) {
  // user 0: 5 3 . 1    user 1: 4 . 2 1    user 2: 1 1 5 .
  const CsrMatrix m = make_csr(3, 4,
                               std::vector<Entry>{{0, 0, 5},
                                                  {0, 1, 3},
                                                  {0, 3, 1},
                                                  {1, 0, 4},
                                                  {1, 2, 2},
                                                  {1, 3, 1},
                                                  {2, 0, 1},
                                                  {2, 1, 1},
                                                  {2, 2, 5}});
  const auto of = [&](Similarity similarity, Feedback feedback, const auto& change) {
    KnnParams params;
    params.feedback = feedback;
    params.side = Side::kUsers;
    params.similarity = similarity;
    params.keep_negative = true;
    change(params);
    const auto reference = open_device("reference");
    const KnnLists found = train_knn(m.view(), params, reference).neighbours;
    std::vector<double> row(3, 0.0);
    for (std::size_t e = 0; e < found.rows_of(0).size(); ++e) {
      row[static_cast<std::size_t>(found.rows_of(0)[e])] = double{found.similarities_of(0)[e]};
    }
    return row;
  };
  const auto nothing = [](KnnParams&) {};
  const auto implicit = [&](Similarity s) { return of(s, Feedback::kImplicit, nothing); };
  const auto rated = [&](Similarity s) { return of(s, Feedback::kExplicit, nothing); };
  const double norm0 = std::sqrt(35.0);
  EXPECT_NEAR(implicit(Similarity::kCosine)[1], 21.0 / (norm0 * std::sqrt(21.0)), 1e-7);
  EXPECT_NEAR(rated(Similarity::kCosine)[1], 21.0 / std::sqrt(26.0 * 17.0), 1e-7);
  EXPECT_NEAR(rated(Similarity::kMsd)[1], 1.0 / (1.0 + 0.5), 1e-7);
  EXPECT_NEAR(rated(Similarity::kMsd)[2], 1.0 / (1.0 + 10.0), 1e-7);
  EXPECT_NEAR(rated(Similarity::kPearson)[1], 1.0, 1e-7);
  EXPECT_EQ(rated(Similarity::kPearson)[2], 0.0) << "equal ratings have no direction";
  EXPECT_NEAR(implicit(Similarity::kJaccard)[1], 2.0 / 4.0, 1e-7);
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    EXPECT_EQ(of(Similarity::kDot, feedback, nothing), (std::vector<double>{0.0, 21.0, 8.0}));
  }
  const auto one = [](KnnParams& p) { p.shrinkage = 1.0; };
  EXPECT_NEAR(of(Similarity::kDot, Feedback::kImplicit, one)[1], 21.0 * 2.0 / 3.0, 1e-5);
  EXPECT_NEAR(implicit(Similarity::kConditional)[1], 2.0 / (3.0 * std::sqrt(3.0)), 1e-7);
  // a walk from row 0 over its items 0 and 3, which 3 and 2 rows have, to the 3 items of row 1
  EXPECT_NEAR(implicit(Similarity::kRp3)[1], (1.0 / 3.0 + 1.0 / 2.0) / (3.0 * std::sqrt(3.0)),
              1e-7);
  // k11 = 2, k12 = 1, k21 = 1, k22 = 0 of 4 items: rarer together than by chance
  const auto h = [](double k) { return k * std::log(k); };
  EXPECT_NEAR(implicit(Similarity::kLogLikelihood)[1], -2.0 * (h(2.0) + h(4.0) - 2.0 * h(3.0)),
              1e-6);
  // means 3, 7/3: (2 5/3 + -2 -4/3) / (sqrt 8 sqrt(14/3))
  EXPECT_NEAR(implicit(Similarity::kPearsonFull)[1], 6.0 / std::sqrt(8.0 * 14.0 / 3.0), 1e-6);
  // idf of an item that n of 3 users have: log 3 - log(1 + n)
  const double rare = std::log(3.0 / 3.0);
  const double common = std::log(3.0 / 4.0);
  EXPECT_NEAR(implicit(Similarity::kTfidf)[1],
              (std::sqrt(20.0) * common * common + rare * rare) /
                  (std::sqrt(5.0) * -common * 2.0 * -common),
              1e-6);
  const auto shrunk = [](KnnParams& p) { p.shrinkage = 3.0, p.amplification = 2.0; };
  EXPECT_NEAR(of(Similarity::kMsd, Feedback::kExplicit, shrunk)[1], std::pow(0.4 / 1.5, 2.0), 1e-7);
  const auto three = [](KnnParams& p) { p.min_support = 3; };
  EXPECT_EQ(of(Similarity::kMsd, Feedback::kExplicit, three)[1], 0.0);
}

/// n_x^-alpha (sum over common columns of n_c^-alpha) n_y^-beta of every pair of items.
[[nodiscard]] std::vector<std::vector<double>> walks(const CsrMatrix& by_user, double alpha,
                                                     double beta) {
  const auto items = static_cast<std::size_t>(by_user.cols);
  std::vector<double> count(items);
  for (const Index item : by_user.columns) count[static_cast<std::size_t>(item)] += 1.0;
  std::vector<std::vector<double>> s(items, std::vector<double>(items));
  for (Index user = 0; user < by_user.rows; ++user) {
    const auto liked = by_user.view().row_columns(user);
    for (const Index x : liked) {
      for (const Index y : liked) {
        s[static_cast<std::size_t>(x)][static_cast<std::size_t>(y)] +=
            std::pow(static_cast<double>(liked.size()), -alpha);
      }
    }
  }
  for (std::size_t x = 0; x < items; ++x) {
    for (std::size_t y = 0; y < items; ++y) {
      if (s[x][y] > 0.0) s[x][y] *= std::pow(count[x], -alpha) * std::pow(count[y], -beta);
    }
  }
  return s;
}

TEST(Knn, Rp3IsTheWalkOfThreeSteps) {
  const auto cpu = open_device("cpu");
  std::vector<CsrMatrix> matrices;
  matrices.push_back(make_csr(0, 0, {}));
  matrices.push_back(make_csr(4, 0, {}));
  matrices.push_back(make_csr(0, 5, {}));
  matrices.push_back(make_csr(3, 1, std::vector<Entry>{{0, 0, 1}, {2, 0, 1}}));
  matrices.push_back(make_csr(  // items 0 and 1 are equal
      3, 4, std::vector<Entry>{{0, 0, 2}, {0, 1, 1}, {1, 0, 5}, {1, 1, 1}, {1, 3, 1}, {2, 3, 1}}));
  matrices.push_back(awkward(60, 83, 9.0, false, 3));
  for (const CsrMatrix& m : matrices) {
    for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, {0.0, 0.0}, {0.7, 0.4}, {1.3, 2.0}}) {
      SCOPED_TRACE(testing::Message() << m.cols << " items, " << alpha << ", " << beta);
      const KnnParams params{.neighbours = 1000,
                             .similarity = Similarity::kRp3,
                             .user_exponent = alpha,
                             .item_exponent = beta};
      const KnnLists found = train_knn(m.view(), params, cpu).neighbours;
      const auto expected = walks(m, alpha, beta);
      ASSERT_EQ(found.size(), m.cols);
      for (Index x = 0; x < m.cols; ++x) {
        const auto& row = expected[static_cast<std::size_t>(x)];
        const auto met = std::ranges::count_if(row, [](double s) { return s > 0.0; });
        const auto ys = found.rows_of(x);
        EXPECT_EQ(std::ssize(ys), std::max<Offset>(0, met - 1)) << x;
        for (std::size_t e = 0; e < ys.size(); ++e) {
          const double s = row[static_cast<std::size_t>(ys[e])];
          // Two weights and the result are float32.
          EXPECT_NEAR(double{found.similarities_of(x)[e]}, s, 2.5e-7 * s) << x << ", " << ys[e];
        }
      }
    }
  }
}

class DenseKnnOnDevice : public KnnOnDevice {
 protected:
  /// Every cell filled but those of an empty row; a constant row; some rows twice.
  static CsrMatrix dense(Index rows, Index cols, bool whole_values, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Entry> entries;
    for (Index r = 0; r < rows; ++r) {
      if (r == 5) continue;
      const std::size_t twin = static_cast<std::size_t>(r - 6) * static_cast<std::size_t>(cols);
      for (Index c = 0; c < cols; ++c) {
        auto value = static_cast<float>(random() % 5 + 1);
        if (!whole_values) value += 0.001F * static_cast<float>(random() % 1000);
        if (r == 3) value = 4.0F;
        if (r > 9 && r % 10 == 0) value = entries[twin + static_cast<std::size_t>(c)].value;
        entries.push_back({r, c, value});
      }
    }
    return make_csr(rows, cols, entries);
  }

  /// By GEMM on the tensor cores, as the model of costs decides.
  static void check_dense(const CsrView& matrix, int neighbours, Side side) {
    const auto cpu = open_device("cpu");
    for (const bool negative : {false, true}) {
      KnnParams params = params_of(Feedback::kImplicit, side, GetParam(), neighbours, 0);
      params.keep_negative = negative;
      SCOPED_TRACE(testing::Message() << matrix.rows << " x " << matrix.cols << ", "
                                      << side_name(side) << ", K " << neighbours);
      std::string remarks;
      const RunControl control{nullptr, [&](const ProgressUpdate& update) {
                                 if (update.unit.empty()) remarks += update.stage;
                               }};
      const KnnLists found = train_knn(matrix, params, device(), control).neighbours;
      EXPECT_TRUE(remarks.ends_with(": GEMM")) << remarks;
      expect_same(found, train_knn(matrix, params, cpu).neighbours);
    }
  }
};

TEST_P(DenseKnnOnDevice, EqualTheCpu) {
  check_dense(dense(300, 1000, true, 11).view(), 20, Side::kUsers);
  check_dense(dense(515, 130, false, 12).view(), 7, Side::kItems);
  check_dense(dense(700, 901, false, 13).view(), 400, Side::kUsers);
}

/// Products of rows of different periods cancel except for what rounding leaves, and so the order
/// of additions decides who is in a list.
TEST_P(DenseKnnOnDevice, EqualTheCpuWhereProductsCancel) {
  std::vector<Entry> entries;
  for (Index r = 0; r < 200; ++r) {
    constexpr Index kPeriods[] = {1, 3, 9, 27};
    for (Index c = 0; c < 405; ++c) {
      const Index step = c / kPeriods[r % 4] % 3;
      entries.push_back({r, c, static_cast<float>(1 << step) + 0.1F * static_cast<float>(r % 3)});
    }
  }
  check_dense(make_csr(200, 405, entries).view(), 120, Side::kUsers);
}

TEST_P(DenseKnnOnDevice, EqualTheCpuWhereListsAreLongerThanThereAreRows) {
  check_dense(dense(90, 600, false, 14).view(), 1000, Side::kUsers);
}

/// More than a GPU takes at a time.
TEST_P(DenseKnnOnDevice, EqualTheCpuInBatches) {
  check_dense(dense(8300, 70, false, 15).view(), 20, Side::kUsers);
}

/// All rows are candidates of each other; the second time more than there is room for.
TEST_P(DenseKnnOnDevice, EqualTheCpuWhereAllRowsAreAlike) {
  for (const Index rows : {900, 1500}) {
    std::vector<Entry> entries;
    for (Index r = 0; r < rows; ++r) {
      for (Index c = 0; c < 300; ++c) {
        const float noise = rows == 900 ? 0.001F * static_cast<float>((r * 7 + c * c) % 11) : 0.0F;
        entries.push_back({r, c, static_cast<float>(c % 5 + 1) + noise});
      }
    }
    check_dense(make_csr(rows, 300, entries).view(), 20, Side::kUsers);
  }
}

std::string similarity_name(const testing::TestParamInfo<Similarity>& info) {
  std::string name(kSimilarityNames[static_cast<std::size_t>(info.param)]);
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cpu, KnnOnDevice, testing::ValuesIn(kAll), similarity_name);
INSTANTIATE_TEST_SUITE_P(Cuda, KnnOnDevice, testing::ValuesIn(kAll), similarity_name);
INSTANTIATE_TEST_SUITE_P(Cuda, ManyKnnOnDevice,
                         testing::Values(Similarity::kPearson, Similarity::kMsd, Similarity::kBm25,
                                         Similarity::kJaccard, Similarity::kDot),
                         similarity_name);
INSTANTIATE_TEST_SUITE_P(Cuda, DenseKnnOnDevice,
                         testing::Values(Similarity::kCosine, Similarity::kPearsonFull),
                         similarity_name);

}  // namespace
}  // namespace likewise
