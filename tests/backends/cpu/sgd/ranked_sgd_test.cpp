// SPDX-License-Identifier: Apache-2.0
/// SGD over ranks gives the factors of one rank, bit-identical.
#include "backends/cpu/sgd/ranked_sgd.h"

#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/iteration_run.h"
#include "algorithms/sgd/setup.h"
#include "algorithms/sgd/sgd.h"
#include "backends/cpu/jobs.h"
#include "backends/cpu/sgd/sgd_rank.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/synthetic.h"
#include "likewise/training.h"
#include "tests/backends/distributed/devices/rank_devices.h"
#include "tests/backends/jobs/sgd_cases.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using testing::HasSubstr;

/// Of the objective over ranks, of itself, where rows are moved in turns: the losses of the same
/// steps, added up by rank.
constexpr double kSgdObjective = 1e-12;

using RankedSgdCase = std::tuple<int, SgdOrder>;

class RankedSgdSolverTest : public testing::TestWithParam<RankedSgdCase> {
 protected:
  [[nodiscard]] static int size() { return std::get<0>(GetParam()); }
  [[nodiscard]] static SgdOrder order() { return std::get<1>(GetParam()); }
  [[nodiscard]] static RankedSgd how() { return {size(), std::chrono::seconds(60)}; }
};

TEST_P(RankedSgdSolverTest, GivesTheFactorsOfOneRank) {
  for (const test::SgdCase& one_case : test::sgd_cases(order())) {
    for (const test::SgdMatrix& given : test::sgd_matrices()) {
      SCOPED_TRACE(fmt::format("{}, {}", one_case.name, given.name));
      const SgdParams& params = one_case.params;
      const CsrMatrix m = given.for_loss(params.loss);
      if (params.loss == SgdLoss::kLogistic && m.nnz() < 2) continue;
      const Factors start = first_sgd_factors(m.view(), params);
      const auto one = make_cpu_sgd_solver(m.view(), params, start.clone(), {});
      const auto many = make_ranked_sgd_solver(m.view(), params, start.clone(), {}, how());
      for (int epoch = 1; epoch <= 3; ++epoch) {
        const double want = one->epoch(epoch, params.learning_rate, {});
        const double got = many->epoch(epoch, params.learning_rate, {});
        if (order() == SgdOrder::kBlocked) {
          EXPECT_EQ(got, want) << epoch;
        } else {
          EXPECT_NEAR(got, want, kSgdObjective * std::abs(want)) << epoch;
        }
        test::expect_same_bits(many->factors(), one->factors());
      }
    }
  }
}

/// Steps for some ratings of a larger matrix, as updates of a model take them.
TEST_P(RankedSgdSolverTest, KnowsTheWhole) {
  const CsrMatrix whole = test::random_csr(300, 120, 20.0, 3);
  const CsrMatrix part = test::random_csr(300, 120, 2.0, 4);
  const std::vector<Offset> users = entry_counts(whole.view(), Side::kUsers);
  const std::vector<Offset> items = entry_counts(whole.view(), Side::kItems);
  const SgdParams params = test::sgd_cases(order()).front().params;
  const SgdWhole of_whole{users, items, 1.7};
  const Factors start = first_sgd_factors(whole.view(), params);
  const auto one = make_cpu_sgd_solver(part.view(), params, start.clone(), of_whole);
  const auto many = make_ranked_sgd_solver(part.view(), params, start.clone(), of_whole, how());
  (void)one->epoch(1, 0.05, {});
  (void)many->epoch(1, 0.05, {});
  test::expect_same_bits(many->take_factors(), one->take_factors());
}

TEST_P(RankedSgdSolverTest, TheNumberOfThreadsDoesNotChangeABit) {
  const CsrMatrix m = test::random_csr(300, 120, 20.0, 3);
  const SgdParams params = test::sgd_cases(order()).front().params;
  const Factors start = first_sgd_factors(m.view(), params);
  std::vector<double> objectives;
  for (const int threads : {1, 2, 5}) {
    with_threads(threads, [&] {
      const auto solver = make_ranked_sgd_solver(m.view(), params, start.clone(), {}, how());
      objectives.push_back(solver->epoch(1, 0.05, {}) + solver->epoch(2, 0.05, {}));
    });
    EXPECT_EQ(objectives.back(), objectives.front()) << threads;
  }
}

/// As any solver in the loop of training: a stop and a restart included.
TEST_P(RankedSgdSolverTest, TrainsAsOneRankDoes) {
  class Job final : public SgdJob {
   public:
    explicit Job(RankedSgd how) : how_(how) {}
    [[nodiscard]] MemoryPlan plan(const SgdShape& shape, const SgdParams& params) const override {
      return job<SgdJob>(make_cpu_device()).plan(shape, params);
    }
    [[nodiscard]] std::unique_ptr<SgdSolver> make_solver(const CsrView& by_user,
                                                         const SgdParams& params, Factors start,
                                                         const SgdWhole& whole) const override {
      return make_ranked_sgd_solver(by_user, params, std::move(start), whole, how_);
    }

   private:
    RankedSgd how_;
  };
  JobTable jobs;
  std::get<Offer<SgdJob>>(jobs).job = std::make_shared<Job>(how());
  const Device many = make_device(
      "ranks", [] { return std::string(); }, std::move(jobs));
  const Interactions data = generate(parse_shape("500x200x8k"), 5);
  SgdParams params;
  params.order = order();
  params.factors = 16;
  params.iterations = 5;
  params.schedule = SgdSchedule::kBold;
  params.learning_rate = 0.01;
  const IterationResult got = train_sgd(data.by_user.view(), params, many);
  const IterationResult want = train_sgd(data.by_user.view(), params, make_cpu_device());
  test::expect_same_bits(got.factors, want.factors);
  EXPECT_LT(got.iterations.back().objective, got.iterations.front().objective);
}

TEST_P(RankedSgdSolverTest, CanBeCancelled) {
  const CsrMatrix m = test::random_csr(300, 120, 20.0, 3);
  const SgdParams params = test::sgd_cases(order()).front().params;
  std::atomic<bool> cancel{true};
  RunControl control;
  control.cancel = &cancel;
  const auto solver =
      make_ranked_sgd_solver(m.view(), params, first_sgd_factors(m.view(), params), {}, how());
  EXPECT_EQ(test::error_of(ErrorKind::kCancelled, [&] { (void)solver->epoch(1, 0.05, control); }),
            "interrupted");
  EXPECT_EQ(solver->take_factors().users.rows(), 300);  // whatever they are
}

/// In the middle of an epoch, by a rank that has just passed its items on.
TEST_P(RankedSgdSolverTest, CanBeCancelledAtAnyTime) {
  const CsrMatrix m = test::random_csr(3000, 900, 30.0, 3);
  const SgdParams params = test::sgd_cases(order()).front().params;
  for (const int wait : {0, 1, 2, 4, 8}) {
    std::atomic<bool> cancel{false};
    RunControl control;
    control.cancel = &cancel;
    const auto solver =
        make_ranked_sgd_solver(m.view(), params, first_sgd_factors(m.view(), params), {}, how());
    std::jthread caller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(wait));
      cancel = true;
    });
    EXPECT_EQ(test::error_of(ErrorKind::kCancelled,
                             [&] {
                               for (int epoch = 1;; ++epoch) {
                                 (void)solver->epoch(epoch, 0.05, control);
                               }
                             }),
              "interrupted");
    EXPECT_EQ(solver->take_factors().items.rows(), 900);
  }
}

TEST_P(RankedSgdSolverTest, TellsWhatIsReceived) {
  const CsrMatrix m = test::random_csr(300, 120, 20.0, 3);
  const SgdParams params = test::sgd_cases(order()).front().params;
  std::vector<std::string> remarks;
  RunControl control;
  control.on_progress = [&](const ProgressUpdate& update) { remarks.emplace_back(update.stage); };
  const auto solver =
      make_ranked_sgd_solver(m.view(), params, first_sgd_factors(m.view(), params), {}, how());
  (void)solver->epoch(1, 0.05, control);
  (void)solver->epoch(2, 0.05, control);
  ASSERT_EQ(remarks.size(), 1U);
  EXPECT_THAT(remarks.front(),
              HasSubstr(fmt::format("sgd {} on {} ranks",
                                    kSgdOrderNames[static_cast<std::size_t>(order())], size())));
}

INSTANTIATE_TEST_SUITE_P(Cpu, RankedSgdSolverTest,
                         testing::Combine(testing::ValuesIn(test::kRankCounts),
                                          testing::Values(SgdOrder::kBlocked,
                                                          SgdOrder::kAlternating)),
                         [](const auto& test) {
                           const bool blocked = std::get<1>(test.param) == SgdOrder::kBlocked;
                           return fmt::format("{}Of{}", blocked ? "Blocked" : "Alternating",
                                              std::get<0>(test.param));
                         });

/// Every item passes by every rank: each gets the whole side once, except for what it holds all
/// along.
TEST(SgdRanksPlan, CountsTheBytesThatPass) {
  const CsrMatrix m = test::random_csr(300, 120, 20.0, 3);
  SgdParams params = test::sgd_cases(SgdOrder::kBlocked).front().params;
  EXPECT_EQ(received_in_epoch(plan_sgd_ranks(m.view(), params, {}, 1)), 0);
  EXPECT_EQ(received_in_epoch(plan_sgd_ranks(m.view(), params, {}, 3)), 120 * (16 + 2) * 4);
  params.schedule = SgdSchedule::kConstant;
  params.biases = false;
  EXPECT_EQ(received_in_epoch(plan_sgd_ranks(m.view(), params, {}, 3)), 120 * 16 * 4);
  params.order = SgdOrder::kAlternating;
  const SgdRanksPlan plan = plan_sgd_ranks(m.view(), params, {}, 2);
  const Index fewest = std::min(plan.users.count(0) + plan.items.count(0),
                                plan.users.count(1) + plan.items.count(1));
  EXPECT_EQ(received_in_epoch(plan), (420 - fewest) * 16 * 4);
}

TEST(SgdRanksPlan, HasNoRankWithoutAStripe) {
  const SgdParams params = test::sgd_cases(SgdOrder::kBlocked).front().params;
  for (const CsrMatrix& m :
       {test::random_csr(3, 40, 9.0, 2), test::sgd_matrices().back().matrix.clone()}) {
    const SgdRanksPlan plan = plan_sgd_ranks(m.view(), params, {}, 5);
    EXPECT_GE(plan.ranks(), 2);
    for (int rank = 0; rank < plan.ranks(); ++rank) EXPECT_GT(plan.stripes.count(rank), 0);
    EXPECT_EQ(plan.stripes.rows(), plan.grid.stripes);
    EXPECT_EQ(plan.users.rows(), m.rows);
    EXPECT_EQ(plan.items.rows(), m.cols);
  }
}

TEST(RankedSgd, OrdersThatRanksCannotShareAreRefused) {
  const CsrMatrix m = test::random_csr(30, 20, 5.0, 2);
  for (const SgdOrder order : {SgdOrder::kRacing, SgdOrder::kSerial}) {
    const SgdParams params = test::sgd_cases(order).front().params;
    const auto make = [&](int ranks) {
      return make_ranked_sgd_solver(m.view(), params, first_sgd_factors(m.view(), params), {},
                                    {ranks, std::chrono::seconds(60)});
    };
    EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument, [&] { (void)make(2); }),
                HasSubstr(fmt::format("order: {} is not shared out over 2 ranks; take blocked or "
                                      "alternating",
                                      kSgdOrderNames[static_cast<std::size_t>(order)])));
    const auto alone = make(1);
#ifdef LIKEWISE_PLAIN_THREADS
    if (order == SgdOrder::kRacing) continue;  // its threads overwrite each other
#endif
    EXPECT_NO_THROW((void)alone->epoch(1, 0.01, {}));
  }
  const SgdParams params = test::sgd_cases(SgdOrder::kBlocked).front().params;
  EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                             [&] { (void)plan_sgd_ranks(m.view(), params, {}, 0); }),
              HasSubstr("ranks must be 1 or more, not 0"));
}

}  // namespace
}  // namespace likewise
