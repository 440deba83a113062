// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "backends/cpu/jobs.h"
#include "backends/cpu/top_k/top_k_search.h"
#include "backends/jobs/device_jobs.h"
#include "backends/reference/jobs.h"
#include "core/linalg/exact_dot.h"
#include "tests/backends/cpu/only_targets.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using testing::HasSubstr;

/// Normal rows whose lengths fall by a factor of a hundred, in shuffled order.
Matrix long_tailed(Index rows, Index cols, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> exponent(-2.0F, 0.0F);
  Matrix m(rows, cols);
  for (Index r = 0; r < rows; ++r) {
    const float length = std::pow(10.0F, exponent(random));
    for (float& x : m.row_span(r)) x = length * normal(random);
  }
  return m;
}

std::vector<float> normal_vector(Index size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> result(static_cast<std::size_t>(size));
  for (float& x : result) x = normal(random);
  return result;
}

/// Same counts and scores; items may differ only among scores that are equal up to `tolerance`.
/// Both sum exact products in double and round once: one unit of float32 covers the difference.
void expect_same(const TopKResult& a, const TopKResult& b) {
  ASSERT_EQ(a.k, b.k);
  ASSERT_EQ(a.counts.size(), b.counts.size());
  for (Offset q = 0; q < a.counts.size(); ++q) {
    ASSERT_EQ(a.counts[q], b.counts[q]) << "query " << q;
    for (Offset e = q * a.k; e < q * a.k + a.counts[q]; ++e) {
      ASSERT_FLOAT_EQ(a.scores[e], b.scores[e]) << "query " << q << " rank " << e - q * a.k;
      const bool tied = (e > q * a.k && a.scores[e - 1] == a.scores[e]) ||
                        (e + 1 < (q + 1) * a.k && a.scores[e + 1] == a.scores[e]);
      if (!tied) {
        ASSERT_EQ(a.items[e], b.items[e]) << "query " << q << " rank " << e - q * a.k;
      }
    }
  }
}

void expect_identical(const TopKResult& a, const TopKResult& b) {
  EXPECT_TRUE(std::equal(a.counts.begin(), a.counts.end(), b.counts.begin(), b.counts.end()));
  EXPECT_TRUE(std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end()));
  EXPECT_TRUE(std::equal(a.scores.begin(), a.scores.end(), b.scores.begin(), b.scores.end()));
}

constexpr ScoreKind kKinds[] = {ScoreKind::kDot, ScoreKind::kSquaredDistance};

/// Two scorers' answers: dot products are added up in two orders, distances in one.
void expect_agree(ScoreKind kind, const TopKResult& a, const TopKResult& b) {
  kind == ScoreKind::kDot ? expect_same(a, b) : expect_identical(a, b);
}

/// Under bytes where there are such, and under floats: what the reference finds.
void expect_exact(ScoreKind kind, const Matrix& items, const Matrix& queries, Index k,
                  const TopKFilter& filter = {}) {
  const TopKResult wanted =
      make_reference_scorer(items.view(), {}, kind)->top_k(queries.view(), k, filter, {});
  for (const EstimateKind estimates : {EstimateKind::kAuto, EstimateKind::kFloat32}) {
    const auto cpu = make_cpu_scorer(items.view(), {}, kind, {nullptr, estimates});
    expect_agree(kind, cpu->top_k(queries.view(), k, filter, {}), wanted);
  }
}

struct SearchShape {
  Index queries, items, factors, k;
};

class ScorerShapes : public testing::TestWithParam<SearchShape> {};

TEST_P(ScorerShapes, CpuEqualsReferenceWithEveryFilter) {
  const SearchShape s = GetParam();
  const Matrix queries = long_tailed(s.queries, s.factors, 1);
  const Matrix items = long_tailed(s.items, s.factors, 2);
  const std::vector<float> bias = normal_vector(s.items, 3);
  const CsrMatrix seen = test::random_csr(s.queries, s.items, 20.0, 4);
  std::vector<std::uint8_t> few(static_cast<std::size_t>(s.items));
  std::vector<std::uint8_t> most(static_cast<std::size_t>(s.items), 1);
  for (std::size_t i = 0; i < few.size(); i += 5) few[i] = 1, most[i] = 0;
  struct Case {
    ScoreKind kind;
    std::span<const float> bias;
  };
  for (const auto& [kind, b] : {Case{ScoreKind::kDot, {}}, Case{ScoreKind::kDot, bias},
                                Case{ScoreKind::kSquaredDistance, {}}}) {
    const auto cpu = make_cpu_scorer(items.view(), b, kind);
    const auto floats = make_cpu_scorer(items.view(), b, kind, {nullptr, EstimateKind::kFloat32});
    const auto reference = make_reference_scorer(items.view(), b, kind);
    for (const TopKFilter& filter :
         {TopKFilter{}, TopKFilter{seen.view(), {}}, TopKFilter{{}, few}, TopKFilter{{}, most},
          TopKFilter{seen.view(), few}, TopKFilter{seen.view(), most}}) {
      const TopKResult top = cpu->top_k(queries.view(), s.k, filter, {});
      expect_agree(kind, top, reference->top_k(queries.view(), s.k, filter, {}));
      expect_identical(top, floats->top_k(queries.view(), s.k, filter, {}));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Awkward, ScorerShapes,
    testing::Values(SearchShape{0, 50, 7, 5}, SearchShape{1, 1, 1, 1}, SearchShape{1, 0, 7, 5},
                    SearchShape{3, 50, 7, 0}, SearchShape{3, 50, 7, 1000},
                    SearchShape{5, 63, 0, 10}, SearchShape{2, 64, 1, 3}, SearchShape{97, 65, 33, 4},
                    SearchShape{13, 700, 64, 10}, SearchShape{100, 1000, 129, 17},
                    SearchShape{4, 400, 16, 60}, SearchShape{7, 3000, 8, 300},
                    SearchShape{2, 17000, 16, 2048}, SearchShape{3, 600, 4096, 20},
                    SearchShape{2, 2100, 4096, 2048}));

TEST(Scorer, AllItemsExcludedGivesNothing) {
  const Matrix queries = long_tailed(2, 5, 1);
  const Matrix items = long_tailed(70, 5, 2);
  const CsrMatrix all = test::random_csr(2, 70, 1000.0);
  const std::vector<std::uint8_t> none(70);
  for (const ScoreKind kind : kKinds) {
    const auto cpu = make_cpu_scorer(items.view(), {}, kind);
    const TopKResult seen = cpu->top_k(queries.view(), 3, {all.view(), {}}, {});
    EXPECT_EQ(seen.counts[0], 0);
    EXPECT_EQ(seen.counts[1], 0);
    EXPECT_EQ(cpu->top_k(queries.view(), 3, {{}, none}, {}).counts[1], 0);
  }
}

TEST(Scorer, TiesGoToTheSmallerItem) {
  Matrix items(300, 3);
  for (Index i = 0; i < 300; ++i) items.row(i)[1] = i % 3 == 0 ? 2.0F : 1.0F;
  Matrix queries(2, 3);
  queries.row(0)[1] = 1.0F;  // the second query scores 0 everywhere
  for (const auto& scorer :
       {make_cpu_scorer(items.view(), {}), make_reference_scorer(items.view(), {})}) {
    const TopKResult top = scorer->top_k(queries.view(), 4, {}, {});
    for (Index i = 0; i < 4; ++i) {
      EXPECT_EQ(top.items[i], 3 * i);
      EXPECT_EQ(top.items[4 + i], i);
    }
  }
}

TEST(Scorer, TiedDistancesGoToTheSmallerItem) {
  Matrix items(300, 3);
  for (Index i = 0; i < 300; ++i) items.row(i)[i % 3] = i % 2 == 0 ? 2.0F : -2.0F;
  Matrix queries(2, 3);
  queries.row(1)[2] = 2.0F;  // the first query is as far from all
  for (const auto& scorer :
       {make_cpu_scorer(items.view(), {}, ScoreKind::kSquaredDistance),
        make_reference_scorer(items.view(), {}, ScoreKind::kSquaredDistance)}) {
    const TopKResult top = scorer->top_k(queries.view(), 30, {}, {});
    for (Index i = 0; i < 30; ++i) {
      EXPECT_EQ(top.items[i], i);
      EXPECT_EQ(top.scores[i], -4.0F);
      EXPECT_EQ(top.items[30 + i], 6 * i + 2);
      EXPECT_EQ(top.scores[30 + i], 0.0F);
    }
  }
}

/// Rows about points of lengths from 1e-3 to 1e3: whatever the centre, most distances between
/// neighbours are far below the lengths, so that estimates cannot tell them apart.
Matrix clustered(Index rows, Index cols, float spread, std::uint64_t seed) {
  constexpr Index kPoints = 9;
  const Matrix points = long_tailed(kPoints, cols, 77);
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Matrix m(rows, cols);
  for (Index r = 0; r < rows; ++r) {
    const auto point = static_cast<Index>(random() % kPoints);
    const float length = std::pow(10.0F, static_cast<float>(point % 7) - 3.0F);
    for (Index j = 0; j < cols; ++j) {
      m.row(r)[j] = length * 30.0F * points.row(point)[j] + length * spread * normal(random);
    }
  }
  return m;
}

TEST(Scorer, NearDuplicatesFarFromTheOriginLoseNoAnswer) {
  for (const Index cols : {1, 2, 3, 17, 64}) {
    for (const float spread : {1.0F, 1e-2F, 1e-4F, 1e-6F, 1e-7F, 0.0F}) {
      const Matrix items = clustered(700, cols, spread, 1);
      const Matrix queries = clustered(100, cols, spread, 2);
      for (const Index k : {1, 7, 70}) {
        expect_exact(ScoreKind::kSquaredDistance, items, queries, k);
      }
      expect_exact(ScoreKind::kSquaredDistance, items, items, 5);
      if (HasFailure()) FAIL() << cols << " columns, spread " << spread;
    }
  }
}

/// The squared distances of all items differ in the last bits of float32, or not at all.
TEST(Scorer, DistancesThatDifferInTheLastBitsLoseNoAnswer) {
  for (const Index cols : {1, 2, 5, 40}) {
    for (const float offset : {0.0F, 1.0F, 1000.0F}) {
      std::mt19937_64 random(5);
      std::normal_distribution<float> normal;
      Matrix queries(30, cols);
      for (Index q = 0; q < 30; ++q) {
        for (float& x : queries.row_span(q)) x = offset + 1e-3F * normal(random);
      }
      Matrix items(2000, cols);
      for (Index i = 0; i < 2000; ++i) {  // on spheres about queries
        double squares = 0.0;
        std::vector<double> step(static_cast<std::size_t>(cols));
        for (double& x : step) x = normal(random), squares += x * x;
        for (Index j = 0; j < cols; ++j) {
          const double unit = step[static_cast<std::size_t>(j)] / std::sqrt(squares);
          items.row(i)[j] = static_cast<float>(double{queries.row(i % 30)[j]} + unit);
        }
      }
      for (const Index k : {1, 10, 100}) {
        expect_exact(ScoreKind::kSquaredDistance, items, queries, k);
      }
      if (HasFailure()) FAIL() << cols << " columns, offset " << offset;
    }
  }
}

/// On a line, lengths bound distances tightly: the last neighbour kept is at the very distance of
/// items in panels that might be skipped.
TEST(Scorer, NeighboursAtTheEdgeOfASkippedPanelLoseNoAnswer) {
  for (const float step : {1.0F, 0.1F, 1e-3F, 7.7e5F}) {
    for (const float start : {0.0F, 1.0F, -333.3F}) {
      Matrix items(3000, 1);
      for (Index i = 0; i < 3000; ++i) {
        items.row(i)[0] = start + step * static_cast<float>((Offset{i} * 1777) % 1500);
      }
      Matrix queries(100, 1);
      for (Index q = 0; q < 100; ++q) {
        queries.row(q)[0] = start + 0.5F * step * static_cast<float>((q * 161) % 3300 - 100);
      }
      for (const Index k : {1, 2, 3, 64, 65, 129, 200}) {
        expect_exact(ScoreKind::kSquaredDistance, items, queries, k);
      }
      if (HasFailure()) FAIL() << "step " << step << ", start " << start;
    }
  }
}

TEST(Scorer, DistancesOfHugeAndTinyRowsLoseNoAnswer) {
  const float scales[] = {1e-38F, 1e-30F, 1e-12F, 1e-5F, 0.0F, 1.0F, 1e5F, 1e12F, 1e14F};
  for (const Index every : {1, 2, 3, 5, 9}) {
    Matrix items = long_tailed(900, 20, 2);
    Matrix queries = long_tailed(90, 20, 1);
    for (Index i = 0; i < 900; ++i) {
      for (float& x : items.row_span(i)) x *= scales[i * every % 9];
    }
    for (Index q = 0; q < 90; ++q) {
      for (float& x : queries.row_span(q)) x *= scales[q % 9];
    }
    for (const Index k : {1, 9, 40}) {
      expect_exact(ScoreKind::kSquaredDistance, items, queries, k);
      expect_exact(ScoreKind::kSquaredDistance, items, items, k);
    }
  }
}

/// Bytes round the winner's score down by all that they may, behind items that are a little worse:
/// here the rounding of the query is parallel to the item.
TEST(Scorer, BytesThatRoundTheQueryLoseNoAnswer) {
  constexpr Index kWinner = 300;
  Matrix items(9 * 64, 3);  // each of them bytes without rounding, the median 0
  for (Index i = 0; i < items.rows(); ++i) {
    if (i % 3 == 0) items.row(i)[0] = -127.0F;
    if (i % 3 == 1) items.row(i)[2] = 127.0F;
    if (i % 3 == 2) items.row(i)[2] = -127.0F;
  }
  std::fill_n(items.row(kWinner), 3, 0.0F);
  items.row(kWinner)[1] = 127.0F;
  Matrix queries(90, 3);
  for (Index q = 0; q < 90; ++q) {
    const float most = 60.0F + 0.499F - 0.005F * static_cast<float>(q);
    const float row[] = {127.0F, most, most - 0.0005F};
    std::copy_n(row, 3, queries.row(q));
  }
  for (const ScoreKind kind : kKinds) {
    expect_exact(kind, items, queries, 1);
    EXPECT_EQ(make_cpu_scorer(items.view(), {}, kind)->top_k(queries.view(), 1, {}, {}).items[0],
              kWinner);
  }
}

/// The same with the rounding of the item, parallel to the query.
TEST(Scorer, BytesThatRoundTheItemLoseNoAnswer) {
  Matrix items(9 * 64, 3);
  for (Index i = 0; i < items.rows(); ++i) {
    items.row(i)[0] = -127.0F;  // a panel with such an item has a scale of 1
    if (i % 2 == 0) continue;
    items.row(i)[1] = 100.0F;  // longer, so in the first panels
    items.row(i)[2] = 63.0F;
  }
  const Index winner = items.rows() - 1;  // shortest, so in the last panel
  const float row[] = {0.0F, 100.499F, 0.0F};
  std::copy_n(row, 3, items.row(winner));
  const float query[] = {0.0F, 127.0F, 1.0F};  // 12763.4 for the winner, 12763 for many
  Matrix queries(1, 3);
  std::copy_n(query, 3, queries.row(0));
  expect_exact(ScoreKind::kDot, items, queries, 1);
  EXPECT_EQ(make_cpu_scorer(items.view(), {})->top_k(queries.view(), 1, {}, {}).items[0], winner);
}

TEST(Scorer, DuplicatesComeInTheirOrder) {
  const Matrix few = long_tailed(7, 12, 3);
  Matrix items(1200, 12);
  for (Index i = 0; i < 1200; ++i) std::copy_n(few.row(i * 31 % 7), 12, items.row(i));
  const CsrMatrix excluded = test::random_csr(7, 1200, 300.0, 4);
  for (const Index k : {1, 5, 100}) {
    for (const ScoreKind kind : kKinds) {
      expect_exact(kind, items, few, k);
      expect_exact(kind, items, few, k, {excluded.view(), {}});
    }
  }
}

TEST(Scorer, AnswersDoNotDependOnThreadsOrBlocks) {
  for (const ScoreKind kind : kKinds) {
    const Matrix queries = long_tailed(211, 24, 1);
    const Matrix items = long_tailed(900, 24, 2);
    const CsrMatrix seen = test::random_csr(211, 900, 30.0, 4);
    const auto cpu = make_cpu_scorer(items.view(), {}, kind);
    const TopKResult whole = cpu->top_k(queries.view(), 10, {seen.view(), {}}, {});
    for (const int threads : {1, 2, 5}) {
      with_threads(threads, [&] {
        expect_identical(cpu->top_k(queries.view(), 10, {seen.view(), {}}, {}), whole);
      });
    }
    const TopKResult alone = cpu->top_k(queries.view().slice(100, 1), 10, {}, {});
    const TopKResult among = cpu->top_k(queries.view(), 10, {}, {});
    EXPECT_TRUE(std::equal(alone.scores.begin(), alone.scores.end(), among.scores.begin() + 1000));
  }
}

TEST(Scorer, AnswersAreTheSameBitsOnEveryInstructionSet) {
  const Matrix queries = long_tailed(50, 37, 1);
  const Matrix items = long_tailed(800, 37, 2);
  const std::vector<float> bias = normal_vector(800, 3);
  const CsrMatrix seen = test::random_csr(50, 800, 30.0, 4);
  const auto answer = [&](Index k, ScoreKind kind) {
    const auto b =
        kind == ScoreKind::kDot ? std::span<const float>(bias) : std::span<const float>();
    const auto scorer = make_cpu_scorer(items.view(), b, kind);
    return scorer->top_k(queries.view(), k, {seen.view(), {}}, {});
  };
  std::vector<TopKResult> wanted;
  for (const ScoreKind kind : kKinds) {
    for (const Index k : {10, 500}) wanted.push_back(answer(k, kind));
  }
  int compared = 0;
  for (const std::int64_t target : test::all_targets()) {
    const test::OnlyTargets only(target);
    auto next = wanted.begin();
    for (const ScoreKind kind : kKinds) {
      for (const Index k : {10, 500}) expect_identical(answer(k, kind), *next++);
    }
    ++compared;
  }
  EXPECT_GE(compared, 1);
}

/// Each square rounded before it is added, then the sums.
double squared_distance(const MatrixView& a, Index i, const MatrixView& b, Index j) {
  double s[8] = {};
  for (Index c = 0; c < a.cols; ++c) {
    const double difference = double{a.row(i)[c]} - double{b.row(j)[c]};
    volatile double square = difference * difference;
    s[c % 8] += square;
  }
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/// To the bit of double precision, with fused multiply-add and without.
TEST(Scorer, DistancesAreAddedUpInTheStatedOrder) {
  const Matrix queries = long_tailed(20, 37, 1);
  const Matrix items = long_tailed(300, 37, 2);
  std::vector<float> all(20 * 300);
  for (const std::int64_t target : test::all_targets()) {
    const test::OnlyTargets only(target);
    make_cpu_scorer(items.view(), {}, ScoreKind::kSquaredDistance)
        ->score_all(queries.view(), all.data());
    for (Index q = 0; q < 20; ++q) {
      for (Index i = 0; i < 300; ++i) {
        const double wanted = squared_distance(queries.view(), q, items.view(), i);
        const float* const pair[] = {queries.row(q), items.row(i)};
        double distance = 0.0;
        kernels::exact_squared_distance_pairs(pair, pair + 1, 48, 1, &distance);
        ASSERT_EQ(distance, wanted);
        ASSERT_EQ(all[static_cast<std::size_t>(q * 300 + i)], -static_cast<float>(wanted));
      }
    }
  }
}

TEST(Scorer, AwkwardMagnitudesLoseNoAnswer) {
  Matrix queries = long_tailed(12, 20, 1);
  const float scales[] = {1e-30F, 1e-12F, 1e-5F, 0.0F, 1e5F, 1e12F};
  for (Index q = 0; q < 12; ++q) {
    for (float& x : queries.row_span(q)) x *= scales[q % 6];
  }
  for (const float item_scale : {0.0F, 1e-20F, 1e-6F, 1.0F, 1e6F}) {
    for (const float bias_scale : {0.0F, 1e-9F, 1.0F, 1e8F}) {
      Matrix items = long_tailed(500, 20, 2);
      for (Index i = 0; i < 500; ++i) {
        for (float& x : items.row_span(i)) x *= i % 7 == 0 ? 0.0F : item_scale;
      }
      std::vector<float> bias = normal_vector(500, 3);
      for (float& b : bias) b *= bias_scale;
      expect_same(make_cpu_scorer(items.view(), bias)->top_k(queries.view(), 9, {}, {}),
                  make_reference_scorer(items.view(), bias)->top_k(queries.view(), 9, {}, {}));
    }
  }
}

TEST(Scorer, SkipsMostOfALongTail) {
  const Matrix queries = long_tailed(100, 16, 1);
  const Matrix items = long_tailed(20000, 16, 2);
  ScanCounts counts;
  const auto cpu =
      make_cpu_scorer(items.view(), {}, ScoreKind::kDot, {&counts, EstimateKind::kAuto});
  (void)cpu->top_k(queries.view(), 10, {}, {});
  EXPECT_LT(counts.scanned, 100 * 20000 / 2);
  EXPECT_LT(counts.rescored, 100 * 500);
}

/// By their lengths alone where these differ.
TEST(Scorer, SkipsMostItemsOfOtherLengths) {
  const Matrix items = long_tailed(20000, 16, 2);
  for (const EstimateKind estimates : {EstimateKind::kAuto, EstimateKind::kFloat32}) {
    ScanCounts counts;
    const auto cpu =
        make_cpu_scorer(items.view(), {}, ScoreKind::kSquaredDistance, {&counts, estimates});
    (void)cpu->top_k(items.view().slice(0, 2000), 10, {}, {});
    EXPECT_LT(counts.scanned, Offset{2000} * 20000 / 2);
    EXPECT_LT(counts.rescored, 2000 * 1000);
  }
}

/// Far from the origin estimates would tell nothing; from the centre they do. One row far outside
/// does not change that.
TEST(Scorer, EstimatesDistancesFarFromTheOrigin) {
  Matrix items = long_tailed(20000, 16, 2);
  for (Index i = 0; i < 20000; ++i) {
    for (float& x : items.row_span(i)) x += 1000.0F;
  }
  for (float& x : items.row_span(333)) x = 1e15F;
  for (const EstimateKind estimates : {EstimateKind::kAuto, EstimateKind::kFloat32}) {
    ScanCounts counts;
    const auto cpu =
        make_cpu_scorer(items.view(), {}, ScoreKind::kSquaredDistance, {&counts, estimates});
    (void)cpu->top_k(items.view().slice(400, 2000), 10, {}, {});
    EXPECT_LT(counts.scanned, Offset{2000} * 20000 / 2);
    EXPECT_LT(counts.rescored, 2000 * 1000);
  }
}

TEST(Scorer, ScoreAllEqualsReference) {
  for (const Index factors : {0, 1, 7, 33, 64, 129}) {
    const Matrix queries = long_tailed(3, factors, 1);
    const Matrix items = long_tailed(130, factors, 2);
    const std::vector<float> bias = normal_vector(130, 3);
    std::vector<float> fast(3 * 130);
    std::vector<float> slow(3 * 130);
    make_cpu_scorer(items.view(), bias)->score_all(queries.view(), fast.data());
    make_reference_scorer(items.view(), bias)->score_all(queries.view(), slow.data());
    for (std::size_t i = 0; i < fast.size(); ++i) ASSERT_FLOAT_EQ(fast[i], slow[i]);
    constexpr auto kDistance = ScoreKind::kSquaredDistance;
    make_cpu_scorer(items.view(), {}, kDistance)->score_all(queries.view(), fast.data());
    make_reference_scorer(items.view(), {}, kDistance)->score_all(queries.view(), slow.data());
    EXPECT_EQ(fast, slow);
  }
}

TEST(Scorer, FaultsAreNamed) {
  const Matrix items = long_tailed(10, 4, 1);
  const Matrix narrow = long_tailed(2, 3, 1);
  const Matrix queries = long_tailed(2, 4, 1);
  const std::vector<float> short_bias(9);
  const std::vector<std::uint8_t> short_mask(9);
  const CsrMatrix seen = test::random_csr(1, 10, 2.0);
  const CsrMatrix wide = test::random_csr(2, 11, 2.0);
  EXPECT_THROW((void)make_cpu_scorer(items.view(), short_bias), Error);
  Matrix broken = long_tailed(10, 4, 1);
  broken.row(3)[2] = std::nanf("");
  const auto refused = [](const auto& ask) {
    return test::error_of(ErrorKind::kInvalidArgument, ask);
  };
  for (const ScoreKind kind : kKinds) {
    EXPECT_THAT(refused([&] { (void)make_cpu_scorer(broken.view(), {}, kind); }),
                HasSubstr("item 3"));
    const auto scorer = make_cpu_scorer(items.view(), {}, kind);
    for (const Index k : {1, 9}) {
      EXPECT_THAT(refused([&] { (void)scorer->top_k(broken.view(), k, {}, {}); }),
                  HasSubstr("queries: the number nan in row 3, column 2"));
    }
  }
  const std::vector<float> bias(10);
  EXPECT_THAT(
      refused([&] { (void)make_cpu_scorer(items.view(), bias, ScoreKind::kSquaredDistance); }),
      HasSubstr("10 item biases beside distances"));
  for (const auto& scorer :
       {make_cpu_scorer(items.view(), {}), make_reference_scorer(items.view(), {})}) {
    EXPECT_THROW((void)scorer->top_k(narrow.view(), 1, {}, {}), Error);
    EXPECT_THROW((void)scorer->top_k(queries.view(), -1, {}, {}), Error);
    EXPECT_THROW((void)scorer->top_k(queries.view(), 1, {seen.view(), {}}, {}), Error);
    EXPECT_THROW((void)scorer->top_k(queries.view(), 1, {wide.view(), {}}, {}), Error);
    EXPECT_THROW((void)scorer->top_k(queries.view(), 1, {{}, short_mask}, {}), Error);
  }
}

TEST(Scorer, CanBeStoppedAndFollowed) {
  const Matrix items = long_tailed(100, 4, 1);
  const Matrix queries = long_tailed(500, 4, 1);
  const auto cpu = make_cpu_scorer(items.view(), {});
  Offset last = 0;
  RunControl control;
  control.on_progress = [&](const ProgressUpdate& update) {
    EXPECT_GT(update.done, last);
    last = update.done;
  };
  (void)cpu->top_k(queries.view(), 3, {}, control);
  EXPECT_EQ(last, 500);
  const std::atomic<bool> stop{true};
  control.cancel = &stop;
  EXPECT_THROW((void)cpu->top_k(queries.view(), 3, {}, control), Error);
}

}  // namespace
}  // namespace likewise
