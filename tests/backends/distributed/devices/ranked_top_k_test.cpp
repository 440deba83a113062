// SPDX-License-Identifier: Apache-2.0
/// Lists over ranks are those of one device, bit-identical: wherever the items are, for any number
/// of ranks.
#include "backends/distributed/devices/ranked_top_k.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/jobs/device_jobs.h"
#include "tests/backends/device_test.h"
#include "tests/backends/distributed/devices/rank_devices.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr ItemPlacement kPlacements[] = {ItemPlacement::kWhole, ItemPlacement::kParts};

/// Few different numbers, so that many scores are equal.
[[nodiscard]] Matrix few_numbers(Index rows, Index cols, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int> number(-2, 2);
  Matrix m(rows, cols);
  for (Index r = 0; r < rows; ++r) {
    for (float& x : m.row_span(r)) x = static_cast<float>(number(random));
  }
  return m;
}

[[nodiscard]] Matrix normal(Index rows, Index cols, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> number;
  Matrix m(rows, cols);
  for (Index r = 0; r < rows; ++r) {
    for (float& x : m.row_span(r)) x = number(random) / static_cast<float>(1 + r % 9);
  }
  return m;
}

void expect_same_lists(const TopKResult& a, const TopKResult& b) {
  ASSERT_EQ(a.k, b.k);
  ASSERT_TRUE(std::ranges::equal(a.counts, b.counts));
  for (Offset q = 0; q < a.counts.size(); ++q) {
    for (Offset e = q * a.k; e < q * a.k + a.counts[q]; ++e) {
      ASSERT_EQ(a.items[e], b.items[e]) << "query " << q << " rank " << e - q * a.k;
      ASSERT_EQ(a.scores[e], b.scores[e]) << "query " << q << " rank " << e - q * a.k;
    }
  }
}

struct RankedShape {
  Index queries, items, factors, k;
};
constexpr RankedShape kShapes[] = {{0, 50, 7, 5},       {1, 1, 1, 1},    {1, 0, 7, 5},
                                   {2, 3, 4, 2},        {3, 50, 7, 0},   {3, 50, 7, 1000},
                                   {4, 2, 5, 3},        {97, 65, 33, 4}, {13, 700, 64, 10},
                                   {200, 1500, 16, 25}, {5, 90, 0, 10}};

using RankedTopKCase = std::tuple<int, ItemPlacement>;

class RankedTopK : public test::DeviceTest<RankedTopKCase> {
 protected:
  [[nodiscard]] static int size() { return std::get<0>(GetParam()); }
  [[nodiscard]] static ItemPlacement placement() { return std::get<1>(GetParam()); }
  [[nodiscard]] static std::unique_ptr<Scorer> ranked(const MatrixView& items,
                                                      std::span<const float> bias, ScoreKind kind) {
    return RankedTopKJob(test::ranks_on(device_name(), size()), placement())
        .make_scorer(items, bias, kind);
  }
};

TEST_P(RankedTopK, GivesTheListsOfOneDeviceWithEveryFilter) {
  for (const auto& [queries, items, factors, k] : kShapes) {
    for (const bool tied : {false, true}) {
      SCOPED_TRACE(fmt::format("{} queries, {} items, {} factors, k {}, tied {}", queries, items,
                               factors, k, tied));
      const Matrix asked = tied ? few_numbers(queries, factors, 1) : normal(queries, factors, 1);
      const Matrix table = tied ? few_numbers(items, factors, 2) : normal(items, factors, 2);
      const Matrix biases = few_numbers(items, 1, 3);
      std::vector<float> bias;
      for (Index i = 0; i < items; ++i) bias.push_back(biases.row(i)[0]);
      // One query has had nearly everything.
      CsrMatrix seen = test::random_csr(queries, items, 20.0, 4);
      std::vector<std::uint8_t> few(static_cast<std::size_t>(items));
      std::vector<std::uint8_t> first(static_cast<std::size_t>(items), 0);
      for (std::size_t i = 0; i < few.size(); i += 5) few[i] = 1;
      for (std::size_t i = 0; i < first.size() / 3; ++i) first[i] = 1;  // no item of the last ranks
      struct Case {
        ScoreKind kind;
        std::span<const float> bias;
      };
      for (const auto& [kind, b] : {Case{ScoreKind::kDot, {}}, Case{ScoreKind::kDot, bias},
                                    Case{ScoreKind::kSquaredDistance, {}}}) {
        const auto one = make_cpu_scorer(table.view(), b, kind);
        const auto many = ranked(table.view(), b, kind);
        for (const TopKFilter& filter : {TopKFilter{}, TopKFilter{seen.view(), {}},
                                         TopKFilter{{}, few}, TopKFilter{seen.view(), first}}) {
          expect_same_lists(many->top_k(asked.view(), k, filter, {}),
                            one->top_k(asked.view(), k, filter, {}));
        }
      }
    }
  }
}

TEST_P(RankedTopK, GivesTheScoresOfOneDevice) {
  for (const auto& [queries, items, factors, k] : kShapes) {
    const Matrix asked = normal(queries, factors, 5);
    const Matrix table = normal(items, factors, 6);
    for (const ScoreKind kind : {ScoreKind::kDot, ScoreKind::kSquaredDistance}) {
      const auto count = static_cast<std::size_t>(queries) * static_cast<std::size_t>(items);
      std::vector<float> wanted(count);
      std::vector<float> got(count, -1.0F);
      make_cpu_scorer(table.view(), {}, kind)->score_all(asked.view(), wanted.data());
      ranked(table.view(), {}, kind)->score_all(asked.view(), got.data());
      EXPECT_EQ(got, wanted) << queries << " x " << items;
    }
  }
}

/// As one device: rows are named by their number in the whole batch.
TEST_P(RankedTopK, NamesWhatIsWrongByItsPlaceInTheWhole) {
  const Matrix table = normal(40, 6, 1);
  Matrix asked = normal(30, 6, 2);
  asked.row(27)[4] = std::numeric_limits<float>::quiet_NaN();
  const auto one = make_cpu_scorer(table.view(), {});
  const auto many = ranked(table.view(), {}, ScoreKind::kDot);
  const auto says = [&](const Scorer& scorer, Index k, const TopKFilter& filter) {
    return test::error_of(ErrorKind::kInvalidArgument,
                          [&] { (void)scorer.top_k(asked.view(), k, filter, {}); });
  };
  EXPECT_THAT(says(*many, 3, {}), HasSubstr("row 27, column 4"));
  const std::vector<std::uint8_t> short_mask(39, 1);
  CsrMatrix wrong = test::random_csr(30, 40, 5.0, 3);
  for (const TopKFilter& filter : {TopKFilter{}, TopKFilter{{}, short_mask}}) {
    EXPECT_EQ(says(*many, 3, filter), says(*one, 3, filter));
    EXPECT_EQ(says(*many, -1, filter), says(*one, -1, filter));
  }
  asked = normal(30, 6, 2);
  const Offset at = wrong.offsets[25];
  ASSERT_GT(wrong.offsets[26] - at, 0);
  wrong.columns[at] = 40;
  EXPECT_THAT(says(*many, 3, {wrong.view(), {}}), HasSubstr("row 25"));
  const std::vector<float> bias(39);
  EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                             [&] { (void)ranked(table.view(), bias, ScoreKind::kDot); }),
              HasSubstr("39 item biases for 40 items"));
}

TEST_P(RankedTopK, ReportsTheProgressOfAllRanks) {
  if (on_gpu()) GTEST_SKIP() << "its timing is the CPU's";
  const Matrix table = normal(3000, 8, 1);
  const Matrix asked = normal(900, 8, 2);
  const auto many = ranked(table.view(), {}, ScoreKind::kDot);
  Offset last = 0;
  RunControl control;
  control.on_progress = [&](const ProgressUpdate& update) {
    if (update.unit.empty()) return;
    EXPECT_EQ(update.total, 900);
    EXPECT_GE(update.done, last);
    last = update.done;
  };
  (void)many->top_k(asked.view(), 10, {}, control);
  EXPECT_EQ(last, 900);
}

TEST_P(RankedTopK, CanBeCancelled) {
  if (on_gpu()) GTEST_SKIP() << "its timing is the CPU's";
  const Matrix table = normal(300, 8, 1);
  const Matrix asked = normal(90, 8, 2);
  std::atomic<bool> cancel{true};
  RunControl control;
  control.cancel = &cancel;
  const auto many = ranked(table.view(), {}, ScoreKind::kDot);
  EXPECT_EQ(test::error_of(ErrorKind::kCancelled,
                           [&] { (void)many->top_k(asked.view(), 10, {}, control); }),
            "interrupted");
}

/// Makes scorers that fail in their first search.
class FailingTopK final : public TopKJob {
 public:
  explicit FailingTopK(test::Fault fault) : fault_(fault) {}
  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(const MatrixView&, std::span<const float>,
                                                    ScoreKind) const override {
    class Failing final : public Scorer {
     public:
      explicit Failing(test::Fault fault) : fault_(fault) {}
      [[nodiscard]] TopKResult top_k(const MatrixView&, Index, const TopKFilter&,
                                     const RunControl& control) const override {
        test::fail(fault_, control);
      }
      void score_all(const MatrixView&, float*) const override {
        test::fail(test::Fault::kDeviceLost, {});
      }

     private:
      test::Fault fault_;
    };
    return std::make_unique<Failing>(fault_);
  }

 private:
  test::Fault fault_;
};

TEST_P(RankedTopK, ARankThatFailsEndsAll) {
  if (on_gpu()) GTEST_SKIP() << "its timing is the CPU's";
  if (size() == 1) GTEST_SKIP() << "one rank has no other";
  const Matrix table = normal(300, 8, 1);
  const Matrix asked = normal(90, 8, 2);
  for (const test::Fault fault : test::kFaults) {
    JobTable jobs;
    std::get<Offer<TopKJob>>(jobs).job = std::make_shared<FailingTopK>(fault);
    const RankDevices ranks = test::with_failing(size(), std::move(jobs));
    const auto many =
        RankedTopKJob(ranks, placement()).make_scorer(table.view(), {}, ScoreKind::kDot);
    std::atomic<bool> cancel{false};
    RunControl control;
    control.cancel = &cancel;
    const bool hangs = fault == test::Fault::kHangs;
    // Where no rank waits for another one, it is the caller who ends what hangs.
    const bool waits = placement() == ItemPlacement::kParts;
    std::jthread caller;
    if (hangs && !waits) {
      caller = std::jthread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        cancel = true;
      });
    }
    const ErrorKind kind = fault == test::Fault::kThrows ? ErrorKind::kNumerical
                           : hangs && !waits             ? ErrorKind::kCancelled
                                                         : ErrorKind::kDevice;
    const std::string message =
        test::error_of(kind, [&] { (void)many->top_k(asked.view(), 10, {}, control); });
    if (fault == test::Fault::kThrows) {
      EXPECT_EQ(message, "a pivot fell over");
    }
    if (fault == test::Fault::kDeviceLost) {
      EXPECT_EQ(message, "lost:0: the GPU fell off the bus");
    }
    if (hangs && waits) {
      EXPECT_THAT(message, HasSubstr(fmt::format("rank {} of {} did not come to barrier",
                                                 size() - 1, size())));
    }
    std::vector<float> scores(90 * 300);
    EXPECT_EQ(
        test::error_of(ErrorKind::kDevice, [&] { many->score_all(asked.view(), scores.data()); }),
        "lost:0: the GPU fell off the bus");
  }
}

std::string ranked_top_k_name(const testing::TestParamInfo<RankedTopKCase>& test) {
  const bool whole = std::get<1>(test.param) == ItemPlacement::kWhole;
  return fmt::format("{}Of{}", whole ? "Whole" : "Parts", std::get<0>(test.param));
}
const auto kCases =
    testing::Combine(testing::ValuesIn(test::kRankCounts), testing::ValuesIn(kPlacements));

INSTANTIATE_TEST_SUITE_P(Cpu, RankedTopK, kCases, ranked_top_k_name);
INSTANTIATE_TEST_SUITE_P(Cuda, RankedTopK, kCases, ranked_top_k_name);

/// A device with little memory.
class SmallTopK final : public TopKJob {
 public:
  explicit SmallTopK(std::vector<Index>& made) : made_(made) {}
  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(const MatrixView& items,
                                                    std::span<const float> bias,
                                                    ScoreKind score) const override {
    {
      const std::lock_guard lock(mutex_);
      made_.push_back(items.rows);
    }
    return make_cpu_scorer(items, bias, score);
  }
  [[nodiscard]] bool keeps(Index items, Index columns) const override {
    return Offset{items} * columns <= 1000;
  }

 private:
  std::vector<Index>& made_;
  mutable std::mutex mutex_;
};

TEST(RankedTopKPlacement, ItemsAreCutWhereADeviceDoesNotKeepThem) {
  std::vector<Index> made;
  JobTable jobs;
  std::get<Offer<TopKJob>>(jobs).job = std::make_shared<SmallTopK>(made);
  const Device small = make_device(
      "small", [] { return std::string(); }, std::move(jobs));
  const RankDevices ranks{{small, small, small}, std::chrono::seconds(60)};
  for (const auto& [items, parts] :
       {std::pair<Index, std::vector<Index>>{100, {100, 100, 100}}, {101, {33, 34, 34}}}) {
    made.clear();
    const Matrix table = normal(items, 10, 1);
    const Matrix asked = normal(20, 10, 2);
    const auto many = RankedTopKJob(ranks).make_scorer(table.view(), {}, ScoreKind::kDot);
    std::ranges::sort(made);
    EXPECT_EQ(made, parts);
    expect_same_lists(many->top_k(asked.view(), 9, {}, {}),
                      make_cpu_scorer(table.view(), {})->top_k(asked.view(), 9, {}, {}));
  }
}

}  // namespace
}  // namespace likewise
