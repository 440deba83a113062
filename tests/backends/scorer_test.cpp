// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "backends/cpu/jobs.h"
#include "backends/cpu/top_k/top_k_search.h"
#include "backends/jobs/device_jobs.h"
#include "backends/reference/jobs.h"
#include "tests/support.h"

namespace likewise {
namespace {

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

struct Shape {
  Index queries, items, factors, k;
};

class ScorerShapes : public testing::TestWithParam<Shape> {};

TEST_P(ScorerShapes, CpuEqualsReferenceWithEveryFilter) {
  const Shape s = GetParam();
  const Matrix queries = long_tailed(s.queries, s.factors, 1);
  const Matrix items = long_tailed(s.items, s.factors, 2);
  const std::vector<float> bias = normal_vector(s.items, 3);
  const CsrMatrix seen = test::random_csr(s.queries, s.items, 20.0, 4);
  std::vector<std::uint8_t> few(static_cast<std::size_t>(s.items));
  std::vector<std::uint8_t> most(static_cast<std::size_t>(s.items), 1);
  for (std::size_t i = 0; i < few.size(); i += 5) few[i] = 1, most[i] = 0;
  for (const bool with_bias : {false, true}) {
    const std::span<const float> b =
        with_bias ? std::span<const float>(bias) : std::span<const float>();
    const auto cpu = make_cpu_scorer(items.view(), b);
    const auto floats = make_cpu_scorer(items.view(), b, {nullptr, EstimateKind::kFloat32});
    const auto reference = make_reference_scorer(items.view(), b);
    for (const TopKFilter& filter :
         {TopKFilter{}, TopKFilter{seen.view(), {}}, TopKFilter{{}, few}, TopKFilter{{}, most},
          TopKFilter{seen.view(), few}, TopKFilter{seen.view(), most}}) {
      const TopKResult top = cpu->top_k(queries.view(), s.k, filter, {});
      expect_same(top, reference->top_k(queries.view(), s.k, filter, {}));
      expect_identical(top, floats->top_k(queries.view(), s.k, filter, {}));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Awkward, ScorerShapes,
                         testing::Values(Shape{0, 50, 7, 5}, Shape{1, 1, 1, 1}, Shape{1, 0, 7, 5},
                                         Shape{3, 50, 7, 0}, Shape{3, 50, 7, 1000},
                                         Shape{5, 63, 0, 10}, Shape{2, 64, 1, 3},
                                         Shape{97, 65, 33, 4}, Shape{13, 700, 64, 10},
                                         Shape{100, 1000, 129, 17}, Shape{4, 400, 16, 60},
                                         Shape{7, 3000, 8, 300}));

TEST(Scorer, AllItemsExcludedGivesNothing) {
  const Matrix queries = long_tailed(2, 5, 1);
  const Matrix items = long_tailed(70, 5, 2);
  const CsrMatrix all = test::random_csr(2, 70, 1000.0);
  const auto cpu = make_cpu_scorer(items.view(), {});
  const TopKResult seen = cpu->top_k(queries.view(), 3, {all.view(), {}}, {});
  EXPECT_EQ(seen.counts[0], 0);
  EXPECT_EQ(seen.counts[1], 0);
  const std::vector<std::uint8_t> none(70);
  EXPECT_EQ(cpu->top_k(queries.view(), 3, {{}, none}, {}).counts[1], 0);
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

TEST(Scorer, AnswersDoNotDependOnThreadsOrBlocks) {
  const Matrix queries = long_tailed(211, 24, 1);
  const Matrix items = long_tailed(900, 24, 2);
  const CsrMatrix seen = test::random_csr(211, 900, 30.0, 4);
  const auto cpu = make_cpu_scorer(items.view(), {});
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

/// Lets Highway use only `targets` for a while.
class OnlyTargets {
 public:
  explicit OnlyTargets(std::int64_t targets) { use(targets); }
  ~OnlyTargets() { use(before_); }
  OnlyTargets(const OnlyTargets&) = delete;
  OnlyTargets& operator=(const OnlyTargets&) = delete;

 private:
  static void use(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  std::int64_t before_ = hwy::SupportedTargets();
};

TEST(Scorer, AnswersAreTheSameBitsOnEveryInstructionSet) {
  const Matrix queries = long_tailed(50, 37, 1);
  const Matrix items = long_tailed(800, 37, 2);
  const std::vector<float> bias = normal_vector(800, 3);
  const CsrMatrix seen = test::random_csr(50, 800, 30.0, 4);
  const auto answer = [&](Index k) {
    return make_cpu_scorer(items.view(), bias)->top_k(queries.view(), k, {seen.view(), {}}, {});
  };
  const TopKResult few = answer(10);
  const TopKResult many = answer(500);
  int compared = 0;
  for (const std::int64_t target : {HWY_SSE4, HWY_AVX2, HWY_AVX3, HWY_NEON}) {
    if ((hwy::SupportedTargets() & target) == 0) continue;
    const OnlyTargets only(target);
    expect_identical(answer(10), few);
    expect_identical(answer(500), many);
    ++compared;
  }
  EXPECT_GE(compared, 1);
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
  const auto cpu = make_cpu_scorer(items.view(), {}, {&counts, EstimateKind::kAuto});
  (void)cpu->top_k(queries.view(), 10, {}, {});
  EXPECT_LT(counts.scanned, 100 * 20000 / 2);
  EXPECT_LT(counts.rescored, 100 * 500);
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
  EXPECT_THROW((void)make_cpu_scorer(broken.view(), {}), Error);
  EXPECT_THROW((void)make_cpu_scorer(items.view(), {})->top_k(broken.view(), 1, {}, {}), Error);
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
