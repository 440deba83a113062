// SPDX-License-Identifier: Apache-2.0
/// Lists on a GPU are those of the CPU, bit-identical.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/jobs.h"
#include "backends/cuda/host/top_k_plan.h"
#include "backends/jobs/device_jobs.h"
#include "tests/backends/device_test.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using testing::HasSubstr;

/// Rows whose products and distances are hard to tell apart in few bits, each in its way.
enum class Data {
  kNormal,
  kLengths,     ///< over six orders of magnitude
  kFarCluster,  ///< near duplicates far from the origin
  kTies,        ///< of -1, 0 and 1: most scores are shared
  kDuplicates,  ///< eight rows, again and again
  kLastBits,    ///< one row, moved by a few units in the last place
};
constexpr Data kData[] = {Data::kNormal, Data::kLengths,    Data::kFarCluster,
                          Data::kTies,   Data::kDuplicates, Data::kLastBits};

Matrix drawn(Data data, Index rows, Index cols, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> small(-1, 1);
  std::uniform_real_distribution<float> exponent(-3.0F, 3.0F);
  Matrix m(rows, cols);
  for (Index r = 0; r < rows; ++r) {
    const float length = std::pow(10.0F, exponent(random));
    for (Index j = 0; j < cols; ++j) {
      float& x = m.row(r)[j];
      const float y = normal(random);
      switch (data) {
        case Data::kNormal:
          x = y;
          break;
        case Data::kLengths:
          x = length * y;
          break;
        case Data::kFarCluster:
          x = 100.0F + 1e-3F * y;
          break;
        case Data::kTies:
          x = static_cast<float>(small(random));
          break;
        case Data::kDuplicates:
          x = r < 8 ? y : m.row(r % 8)[j];
          break;
        case Data::kLastBits:
          x = 1.0F + 0.1F * static_cast<float>(j % 7);
          if (small(random) > 0) x = std::nextafter(x, 2.0F);
          break;
      }
    }
  }
  return m;
}

void expect_equal_lists(const TopKResult& a, const TopKResult& b) {
  ASSERT_EQ(a.k, b.k);
  ASSERT_THAT(a.counts.span(), testing::ElementsAreArray(b.counts.begin(), b.counts.end()));
  for (Offset q = 0; q < a.counts.size(); ++q) {
    for (Offset e = q * a.k; e < q * a.k + a.counts[q]; ++e) {
      ASSERT_EQ(a.items[e], b.items[e]) << "query " << q << " rank " << e - q * a.k;
      ASSERT_EQ(a.scores[e], b.scores[e]) << "query " << q << " rank " << e - q * a.k;
    }
  }
}

struct GpuSearchShape {
  Index queries, items, factors, k;
};

class ScorerOnGpu : public test::DeviceTest<GpuSearchShape> {
 protected:
  static void expect_as_on_cpu(ScoreKind kind, const Matrix& items, std::span<const float> bias,
                               const Matrix& queries, Index k, const TopKFilter& filter = {}) {
    const auto cpu = make_cpu_scorer(items.view(), bias, kind);
    const auto gpu = job<TopKJob>(device()).make_scorer(items.view(), bias, kind);
    expect_equal_lists(gpu->top_k(queries.view(), k, filter, {}),
                       cpu->top_k(queries.view(), k, filter, {}));
  }
};

TEST_P(ScorerOnGpu, EqualsTheCpu) {
  const GpuSearchShape s = GetParam();
  const CsrMatrix seen = test::random_csr(s.queries, s.items, 0.2 * s.items, 4);
  std::vector<std::uint8_t> few(static_cast<std::size_t>(s.items));
  std::vector<float> bias(few.size());
  for (std::size_t i = 0; i < few.size(); ++i) {
    few[i] = i % 3 == 0 ? 1 : 0;
    bias[i] = 0.1F * static_cast<float>(i % 13);
  }
  for (const Data data : kData) {
    const Matrix items = drawn(data, s.items, s.factors, 1);
    const Matrix queries = drawn(data, s.queries, s.factors, 2);
    for (const TopKFilter& filter :
         {TopKFilter{}, TopKFilter{seen.view(), {}}, TopKFilter{seen.view(), few}}) {
      SCOPED_TRACE(fmt::format("data {}, filters {} {}", static_cast<int>(data),
                               filter.excluded.rows > 0, !filter.allowed.empty()));
      expect_as_on_cpu(ScoreKind::kDot, items, {}, queries, s.k, filter);
      expect_as_on_cpu(ScoreKind::kDot, items, bias, queries, s.k, filter);
      expect_as_on_cpu(ScoreKind::kSquaredDistance, items, {}, queries, s.k, filter);
    }
  }
}

/// Of each row to all of its own table, as graphs are made.
TEST_P(ScorerOnGpu, FindsTheRowsThemselves) {
  const GpuSearchShape s = GetParam();
  for (const Data data : {Data::kNormal, Data::kFarCluster, Data::kDuplicates}) {
    const Matrix items = drawn(data, s.items, s.factors, 1);
    expect_as_on_cpu(ScoreKind::kSquaredDistance, items, {}, items, s.k);
  }
}

TEST_P(ScorerOnGpu, ScoresAreTheSameBits) {
  const GpuSearchShape s = GetParam();
  const Matrix items = drawn(Data::kLengths, s.items, s.factors, 1);
  const Matrix queries = drawn(Data::kLengths, std::min<Index>(s.queries, 9), s.factors, 2);
  const auto size = static_cast<std::size_t>(Offset{queries.rows()} * s.items);
  for (const ScoreKind kind : {ScoreKind::kDot, ScoreKind::kSquaredDistance}) {
    std::vector<float> wanted(size);
    std::vector<float> found(size);
    make_cpu_scorer(items.view(), {}, kind)->score_all(queries.view(), wanted.data());
    job<TopKJob>(device())
        .make_scorer(items.view(), {}, kind)
        ->score_all(queries.view(), found.data());
    EXPECT_EQ(found, wanted);
  }
}

/// Every rounding to float16 is against the best item and for all others: a margin of less than
/// 0.7 of the bound loses it.
TEST_P(ScorerOnGpu, RoundingMayBeAgainstTheBest) {
  const GpuSearchShape s = GetParam();
  if (s.factors < 4 || s.items < 3) return;
  const Index half = s.factors / 2;
  const float down = 1.0F + 0.98F * 0x1p-11F;  // to 1
  const float up = 1.0F + 1.02F * 0x1p-11F;    // to 1 + 2^-10
  Matrix items(s.items, s.factors);
  Matrix queries(s.queries, s.factors);
  for (Index q = 0; q < s.queries; ++q) {
    for (Index j = 0; j < 2 * half; ++j) queries.row(q)[j] = j < half ? down : up;
  }
  const Index best = s.items / 2;
  for (Index i = 0; i < s.items; ++i) {
    for (Index j = 0; j < half; ++j) items.row(i)[i == best ? j : half + j] = i == best ? down : up;
    if (i != best) items.row(i)[half] -= 1.5e-4F * static_cast<float>(half);
  }
  const auto gpu = job<TopKJob>(device()).make_scorer(items.view(), {}, ScoreKind::kDot);
  const TopKResult found = gpu->top_k(queries.view(), 1, {}, {});
  for (Index q = 0; q < s.queries; ++q) ASSERT_EQ(found.items[q], best);
  expect_as_on_cpu(ScoreKind::kDot, items, {}, queries, s.k);
}

INSTANTIATE_TEST_SUITE_P(
    Cuda, ScorerOnGpu,
    testing::Values(GpuSearchShape{1, 1, 1, 1}, GpuSearchShape{3, 5, 4, 10},
                    GpuSearchShape{129, 127, 63, 5}, GpuSearchShape{128, 128, 64, 128},
                    GpuSearchShape{300, 2500, 65, 10}, GpuSearchShape{40, 5000, 30, 100},
                    GpuSearchShape{5, 9000, 16, 2048}, GpuSearchShape{2, 3000, 20, 2500},
                    GpuSearchShape{7, 600, 1000, 3}, GpuSearchShape{5, 300, 4096, 10}),
    [](const testing::TestParamInfo<GpuSearchShape>& shape) {
      const GpuSearchShape& s = shape.param;
      return fmt::format("{}x{}x{}_{}", s.queries, s.items, s.factors, s.k);
    });

class LargeScorerOnGpu : public ScorerOnGpu {};

/// Items that do not fit come in pieces, and queries in batches.
TEST_P(LargeScorerOnGpu, TakesItemsInPieces) {
  const GpuSearchShape s = GetParam();
  const Matrix items = drawn(Data::kNormal, s.items, s.factors, 1);
  const Matrix queries = drawn(Data::kNormal, s.queries, s.factors, 2);
  DeviceOptions options;
  options.device_memory = Offset{48} << 20;
  const Device small = open_device("cuda", options);
  const auto cpu = make_cpu_scorer(items.view(), {}, ScoreKind::kDot);
  const auto gpu = job<TopKJob>(small).make_scorer(items.view(), {}, ScoreKind::kDot);
  const TopKResult wanted = cpu->top_k(queries.view(), s.k, {}, {});
  expect_equal_lists(gpu->top_k(queries.view(), s.k, {}, {}), wanted);
  std::thread other([&] { expect_equal_lists(gpu->top_k(queries.view(), s.k, {}, {}), wanted); });
  expect_equal_lists(gpu->top_k(queries.view(), s.k, {}, {}), wanted);
  other.join();
}

INSTANTIATE_TEST_SUITE_P(Cuda, LargeScorerOnGpu,
                         testing::Values(GpuSearchShape{3000, 100'000, 100, 20}));

class FaultsOfScorerOnGpu : public test::DeviceTest<int> {};

TEST_P(FaultsOfScorerOnGpu, AreNamed) {
  Matrix items = drawn(Data::kNormal, 20, 4, 1);
  Matrix queries = drawn(Data::kNormal, 3, 4, 2);
  const auto gpu = job<TopKJob>(device()).make_scorer(items.view(), {}, ScoreKind::kDot);
  const auto refused = [](const std::function<void()>& work) {
    return test::error_of(ErrorKind::kInvalidArgument, work);
  };
  queries.row(2)[1] = NAN;
  EXPECT_THAT(refused([&] { (void)gpu->top_k(queries.view(), 2, {}, {}); }),
              HasSubstr("queries: the number nan in row 2, column 1"));
  EXPECT_THAT(refused([&] { (void)gpu->top_k(Matrix(1, 5).view(), 2, {}, {}); }),
              HasSubstr("queries have 5 factors"));
  items.row(7)[0] = INFINITY;
  for (const ScoreKind kind : {ScoreKind::kDot, ScoreKind::kSquaredDistance}) {
    EXPECT_THAT(refused([&] { (void)job<TopKJob>(device()).make_scorer(items.view(), {}, kind); }),
                HasSubstr("item 7"));
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, FaultsOfScorerOnGpu, testing::Values(0));

TEST(GpuTopKPlan, TakesPiecesOfWhatDoesNotFit) {
  EXPECT_EQ(plan_gpu_top_k(100'000, 128, 33'792, Offset{8} << 30).pieces, 1);
  const GpuTopKPlan pieces = plan_gpu_top_k(1'000'000, 128, 33'792, Offset{256} << 20);
  EXPECT_GT(pieces.pieces, 1);
  EXPECT_GE(pieces.queries, 1024);
  EXPECT_EQ(pieces.excluded * 2 * Offset{sizeof(Index)}, Offset{16} << 20);
  EXPECT_EQ(plan_gpu_top_k(0, 1, 33'792, Offset{1} << 30).pieces, 1);
  EXPECT_THAT(
      test::error_of(ErrorKind::kOutOfMemory,
                     [] { (void)plan_gpu_top_k(1'000'000, 4096, 33'792, Offset{8} << 20); }),
      HasSubstr("use the cpu"));
}

}  // namespace
}  // namespace likewise
