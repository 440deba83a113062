// SPDX-License-Identifier: Apache-2.0
/// Neighbours over ranks are those of one device, bit-identical, and every part costs about the
/// same.
#include "backends/distributed/devices/ranked_knn.h"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/knn/similarity.h"
#include "backends/jobs/device_jobs.h"
#include "backends/reference/jobs.h"
#include "tests/backends/device_test.h"
#include "tests/backends/distributed/devices/rank_devices.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using test::Entry;
using testing::HasSubstr;

constexpr Similarity kSimilarities[] = {Similarity::kCosine,
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

[[nodiscard]] Device knn_over_ranks(const RankDevices& ranks) {
  JobTable table;
  std::get<Offer<KnnJob>>(table).job = std::make_shared<RankedKnnJob>(ranks);
  return make_device(
      "ranks", [] { return std::string("threads as ranks"); }, std::move(table));
}

void expect_same_knn_lists(const KnnLists& a, const KnnLists& b) {
  ASSERT_EQ(a.size(), b.size());
  for (Index row = 0; row < a.size(); ++row) {
    ASSERT_TRUE(std::ranges::equal(a.rows_of(row), b.rows_of(row))) << "row " << row;
    ASSERT_TRUE(std::ranges::equal(a.similarities_of(row), b.similarities_of(row)))
        << "row " << row;
  }
}

/// A row with about half of all entries, rows without any, and many that are equal.
[[nodiscard]] CsrMatrix half_in_a_row() {
  std::vector<Entry> entries;
  for (Index c = 0; c < 400; ++c) entries.push_back({11, c, 1.0F + static_cast<float>(c % 5)});
  for (Index r = 0; r < 120; ++r) {
    if (r == 11 || r % 7 == 0) continue;
    entries.push_back({r, 40, 1.0F + static_cast<float>(r % 4)});
    entries.push_back({r, 41 + r % 3, 2.0F});
    if (r % 3 == 1) entries.push_back({r, 100 + r, 2.5F});
  }
  return test::make_csr(120, 400, entries);
}

struct NamedMatrix {
  std::string name;
  CsrMatrix matrix;
};
[[nodiscard]] std::vector<NamedMatrix> matrices() {
  std::vector<NamedMatrix> all;
  all.push_back({"nothing", test::make_csr(0, 0, {})});
  const Entry cell{0, 0, 2.0F};
  all.push_back({"one cell", test::make_csr(1, 1, {&cell, 1})});
  all.push_back({"fewer rows than ranks", test::random_csr(3, 40, 9.0, 2)});
  all.push_back({"no entries", test::make_csr(20, 9, {})});
  all.push_back({"sparse", test::random_csr(300, 60, 5.0, 3)});
  all.push_back({"full", test::random_csr(270, 18, 17.0, 4)});
  all.push_back({"half in a row", half_in_a_row()});
  return all;
}

class RankedKnn : public test::DeviceTest<int> {};

/// Of every matrix and every similarity, `k` neighbours.
void expect_lists_of_one_device(const RankDevices& ranks, int k) {
  const Device many = knn_over_ranks(ranks);
  const Device one = make_cpu_device();
  for (const auto& [name, matrix] : matrices()) {
    for (const Similarity similarity : kSimilarities) {
      for (const Side side : {Side::kUsers, Side::kItems}) {
        SCOPED_TRACE(fmt::format("{}, similarity {}, {}, k {}", name,
                                 kSimilarityNames[static_cast<std::size_t>(similarity)],
                                 side_name(side), k));
        KnnParams params = KnnParams::defaults(Feedback::kExplicit);
        params.similarity = similarity;
        params.side = side;
        params.neighbours = k;
        params.keep_negative = k == 6;
        expect_same_knn_lists(train_knn(matrix.view(), params, many).neighbours,
                              train_knn(matrix.view(), params, one).neighbours);
      }
    }
  }
}

TEST_P(RankedKnn, AreThoseOfOneDevice) {
  expect_lists_of_one_device(test::ranks_on(device_name(), GetParam()), 6);
}

TEST_P(RankedKnn, AlsoOneNeighbourAndAll) {
  if (on_gpu()) GTEST_SKIP() << "each GPU would make its tables again";
  for (const int k : {1, 1000}) {
    expect_lists_of_one_device(test::ranks_on(device_name(), GetParam()), k);
  }
}

/// Plain cosines of dense rows, which the CPU estimates first; some rows are each other's copies.
TEST_P(RankedKnn, FromEstimatesToo) {
  std::vector<Entry> entries;
  for (Index r = 0; r < 900; ++r) {
    for (Index c = 0; c < 24; ++c) {
      const Index as = r % 50 == 49 ? r - 1 : r;
      entries.push_back({r, c, 1.0F + 0.01F * static_cast<float>((as * 37 + c * c * 11) % 401)});
    }
  }
  const CsrMatrix matrix = test::make_csr(900, 24, entries);
  KnnParams params = KnnParams::defaults(Feedback::kImplicit);
  params.side = Side::kUsers;
  params.similarity = Similarity::kCosine;
  params.neighbours = 20;
  expect_same_knn_lists(
      train_knn(matrix.view(), params, knn_over_ranks(test::ranks_on(device_name(), GetParam())))
          .neighbours,
      train_knn(matrix.view(), params, make_cpu_device()).neighbours);
}

/// Estimates do not tell which of so many equal rows are the nearest, but do in the parts that
/// never meet them: parts are cut in two ways, and still hold every pair.
TEST_P(RankedKnn, WhereEstimatesAreNoHelpInSomeParts) {
  std::vector<Entry> entries;
  for (Index r = 0; r < 900; ++r) {
    for (Index c = 0; c < 24; ++c) {
      const Index as = r < 300 ? 0 : r;
      entries.push_back({r, c, 1.0F + 0.01F * static_cast<float>((as * 37 + c * c * 11) % 401)});
    }
  }
  const CsrMatrix matrix = test::make_csr(900, 24, entries);
  KnnParams params = KnnParams::defaults(Feedback::kImplicit);
  params.side = Side::kUsers;
  params.similarity = Similarity::kCosine;
  params.neighbours = 20;
  expect_same_knn_lists(
      train_knn(matrix.view(), params, knn_over_ranks(test::ranks_on(device_name(), GetParam())))
          .neighbours,
      train_knn(matrix.view(), params, make_cpu_device()).neighbours);
}

/// A device that searches as a whole only still does a part: by its similarities.
TEST_P(RankedKnn, OfDevicesWithoutPartsToo) {
  RankDevices ranks = test::cpu_ranks(GetParam());
  for (Device& device : ranks.devices) device = make_reference_device();
  const Device many = knn_over_ranks(ranks);
  for (const auto& [name, matrix] : matrices()) {
    SCOPED_TRACE(name);
    KnnParams params = KnnParams::defaults(Feedback::kImplicit);
    params.neighbours = 7;
    expect_same_knn_lists(train_knn(matrix.view(), params, many).neighbours,
                          train_knn(matrix.view(), params, make_cpu_device()).neighbours);
  }
}

TEST_P(RankedKnn, CompareOutsideRows) {
  const CsrMatrix known = test::random_csr(90, 60, 9.0, 8);
  const CsrMatrix outside = test::random_csr(8, 60, 12.0, 9);
  KnnParams params = KnnParams::defaults(Feedback::kImplicit);
  params.side = Side::kUsers;
  const Biases none;
  const SimilarityProblem problem(known.view(), params, none);
  const auto one = make_cpu_knn_search(problem);
  const auto many = RankedKnnJob(test::ranks_on(device_name(), GetParam())).make_search(problem);
  std::vector<RowStats> stats;
  for (Index row = 0; row < outside.rows; ++row) {
    const auto values = outside.view().row_values(row);
    std::vector<float> weights(values.size());
    stats.push_back(problem.weigh(0.0, outside.view().row_columns(row), values, weights));
  }
  for (const Index queries : {0, 1, 8}) {
    CsrView some = outside.view();
    some.rows = queries;
    const auto count = static_cast<std::size_t>(queries) * 90;
    std::vector<float> wanted(count);
    std::vector<float> got(count, -1.0F);
    const std::span<const RowStats> of_some(stats.data(), static_cast<std::size_t>(queries));
    one->similarities({some, of_some}, wanted.data());
    many->similarities({some, of_some}, got.data());
    EXPECT_EQ(got, wanted);
  }
}

TEST_P(RankedKnn, ReportTheProgressOfAllRanks) {
  if (on_gpu()) GTEST_SKIP() << "rows are counted as the CPU reports them";
  const CsrMatrix matrix = test::random_csr(1500, 60, 5.0, 3);
  KnnParams params = KnnParams::defaults(Feedback::kImplicit);
  params.side = Side::kUsers;
  Offset last = 0;
  int remarks = 0;
  RunControl control;
  control.on_progress = [&](const ProgressUpdate& update) {
    if (update.unit.empty()) ++remarks;
    if (update.stage != "neighbours") return;
    EXPECT_EQ(update.total, 1500);
    EXPECT_GE(update.done, last);
    last = update.done;
  };
  (void)train_knn(matrix.view(), params, knn_over_ranks(test::ranks_on(device_name(), GetParam())),
                  control);
  EXPECT_EQ(last, 1500);
  EXPECT_EQ(remarks, 1);
}

class FailingKnn final : public KnnJob {
 public:
  explicit FailingKnn(test::Fault fault) : fault_(fault) {}
  [[nodiscard]] std::unique_ptr<KnnSearch> make_search(const SimilarityProblem&) const override {
    class Failing final : public KnnSearch {
     public:
      explicit Failing(test::Fault fault) : fault_(fault) {}
      [[nodiscard]] KnnLists find_part(const SearchPart&, Index,
                                       const RunControl& control) const override {
        test::fail(fault_, control);
      }
      void similarities(const WeightedRows&, float*) const override {}

     private:
      test::Fault fault_;
    };
    return std::make_unique<Failing>(fault_);
  }

 private:
  test::Fault fault_;
};

TEST_P(RankedKnn, ARankThatFailsEndsAll) {
  const CsrMatrix matrix = test::random_csr(300, 60, 5.0, 3);
  const KnnParams params = KnnParams::defaults(Feedback::kImplicit);
  for (const auto& [fault, kind, message] :
       {std::tuple{test::Fault::kThrows, ErrorKind::kNumerical, "a pivot fell over"},
        {test::Fault::kDeviceLost, ErrorKind::kDevice, "lost:0: the GPU fell off the bus"},
        {test::Fault::kHangs, ErrorKind::kCancelled, "interrupted"}}) {
    JobTable jobs;
    std::get<Offer<KnnJob>>(jobs).job = std::make_shared<FailingKnn>(fault);
    const Device many = knn_over_ranks(test::with_failing(GetParam(), std::move(jobs)));
    std::atomic<bool> cancel{false};
    RunControl control;
    control.cancel = &cancel;
    std::jthread caller;  // no rank waits for the one that hangs, only the caller does
    if (fault == test::Fault::kHangs) {
      caller = std::jthread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        cancel = true;
      });
    }
    EXPECT_EQ(test::error_of(kind, [&] { (void)train_knn(matrix.view(), params, many, control); }),
              message);
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, RankedKnn, testing::ValuesIn(test::kRankCounts));
INSTANTIATE_TEST_SUITE_P(Cuda, RankedKnn, testing::ValuesIn(test::kRankCounts));

/// Every pair is in one part, so the lists of all parts together hold each neighbour once.
TEST(SearchParts, HoldEveryPairOnce) {
  const CsrMatrix matrix = test::random_csr(400, 50, 6.0, 5);
  KnnParams params = KnnParams::defaults(Feedback::kImplicit);
  params.side = Side::kUsers;
  params.similarity = Similarity::kJaccard;
  const Biases none;
  const SimilarityProblem problem(matrix.view(), params, none);
  const auto search = make_cpu_knn_search(problem);
  const KnnLists whole = search->find(400, {});
  for (const int parts : {2, 3, 5, 450}) {
    Offset pairs = 0;
    Offset most = 0;
    for (int part = 0; part < parts; ++part) {
      const KnnLists found = search->find_part({part, parts}, 400, {});
      pairs += found.rows.size();
      most = std::max(most, found.rows.size());
    }
    EXPECT_EQ(pairs, whole.rows.size()) << parts;
    // Pairs that have something in common are most of the cost, not all of it.
    if (parts > 5) continue;
    EXPECT_LT(static_cast<double>(most), 1.25 * static_cast<double>(pairs) / parts);
  }
}

}  // namespace
}  // namespace likewise
