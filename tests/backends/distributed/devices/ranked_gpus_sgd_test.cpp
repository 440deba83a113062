// SPDX-License-Identifier: Apache-2.0
/// SGD on several GPUs gives the factors of one GPU, bit-identical, whatever connects them.
#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/iteration_run.h"
#include "algorithms/sgd/setup.h"
#include "algorithms/sgd/sgd.h"
#include "backends/cuda/host/cuda_device.h"
#include "backends/cuda/host/load_plugin.h"
#include "backends/cuda/host/sgd_work.h"
#include "backends/jobs/device_jobs.h"
#include "backends/reference/jobs.h"
#include "likewise/synthetic.h"
#include "likewise/training.h"
#include "tests/backends/distributed/devices/gpu_ranks.h"
#include "tests/backends/jobs/sgd_cases.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using testing::HasSubstr;

constexpr SgdOrder kOrders[] = {SgdOrder::kBlocked, SgdOrder::kAlternating};
/// Of the objective, of itself: the same terms, added up by GPU.
constexpr double kGpuObjective = 1e-12;

class SgdOnRanks : public test::GpuRanksTest {
 protected:
  [[nodiscard]] static std::shared_ptr<const SgdJob> gpus(Offset memory = 0) {
    return make_cuda_sgd_job(load_cuda_plugin(), GetParam().devices(), memory);
  }
  [[nodiscard]] static Device ranks(Offset memory = 0) {
    JobTable table;
    std::get<Offer<SgdJob>>(table).job = gpus(memory);
    return make_device(
        "ranks", [] { return std::string("GPUs as ranks"); }, std::move(table));
  }
  [[nodiscard]] static std::unique_ptr<SgdSolver> make_solver(const CsrMatrix& m,
                                                              const SgdParams& params,
                                                              const Factors& start,
                                                              const SgdWhole& whole = {}) {
    return gpus()->make_solver(m.view(), params, start.clone(), whole);
  }
  [[nodiscard]] static std::unique_ptr<SgdSolver> make_alone(const CsrMatrix& m,
                                                             const SgdParams& params,
                                                             const Factors& start,
                                                             const SgdWhole& whole = {}) {
    return job<SgdJob>(device()).make_solver(m.view(), params, start.clone(), whole);
  }
  [[nodiscard]] static SgdParams params_of(SgdOrder order) {
    return test::sgd_cases(order).front().params;
  }

  static void expect_as_alone(const CsrMatrix& m, const SgdParams& params) {
    const Factors start = first_sgd_factors(m.view(), params);
    const auto alone = make_alone(m, params, start);
    const auto many = make_solver(m, params, start);
    for (int epoch = 1; epoch <= 3; ++epoch) {
      const double want = alone->epoch(epoch, params.learning_rate, {});
      EXPECT_NEAR(many->epoch(epoch, params.learning_rate, {}), want,
                  kGpuObjective * std::abs(want))
          << epoch;
      test::expect_same_bits(many->factors(), alone->factors());
    }
  }
};

TEST_P(SgdOnRanks, GiveTheFactorsOfOneGpu) {
  for (const SgdOrder order : kOrders) {
    for (const test::SgdCase& one : test::sgd_cases(order)) {
      for (const test::SgdMatrix& given : test::sgd_matrices()) {
        const CsrMatrix m = given.for_loss(one.params.loss);
        if (one.params.loss == SgdLoss::kLogistic && m.nnz() < 2) continue;
        for (const SgdPrecision precision : {SgdPrecision::kFp16, SgdPrecision::kFp32}) {
          SCOPED_TRACE(fmt::format(
              "{}, {}, {}, {}", kSgdOrderNames[static_cast<std::size_t>(order)], one.name,
              given.name, kSgdPrecisionNames[static_cast<std::size_t>(precision)]));
          SgdParams params = one.params;
          params.precision = precision;
          expect_as_alone(m, params);
        }
      }
    }
  }
}

/// Of every width: in registers, and longer ones. 300 stripes, more turns than GPUs are let run on
/// without a wait.
TEST_P(SgdOnRanks, GiveTheFactorsOfOneGpuOfEveryWidth) {
  const CsrMatrix m = test::random_csr(9000, 2400, 12.0, 7);
  for (const SgdOrder order : kOrders) {
    for (const int factors : {1, 40, 64, 128, 150, 300, 1000}) {
      SCOPED_TRACE(factors);
      SgdParams params = params_of(order);
      params.factors = factors;
      expect_as_alone(m, params);
    }
  }
}

/// By the tolerance of one GPU (sgd_test.cpp).
TEST_P(SgdOnRanks, EqualTheReference) {
  const CsrMatrix m = test::random_csr(300, 120, 20.0, 3);
  for (const SgdOrder order : kOrders) {
    SgdParams params = params_of(order);
    params.precision = SgdPrecision::kFp32;
    const Factors start = first_sgd_factors(m.view(), params);
    const Index stripes =
        order == SgdOrder::kBlocked ? gpu_sgd_stripes({m.rows, m.cols, m.nnz()}) : 1;
    const auto exact = make_reference_sgd_solver(m.view(), params, start.clone(), {}, stripes);
    const auto solver = make_solver(m, params, start);
    for (int epoch = 1; epoch <= 3; ++epoch) {
      const double want = exact->epoch(epoch, 0.05, {});
      EXPECT_NEAR(solver->epoch(epoch, 0.05, {}), want, 1e-5 * want);
    }
    for (const Side side : {Side::kUsers, Side::kItems}) {
      for (Index r = 0; r < exact->factors().side(side).rows(); ++r) {
        EXPECT_THAT(
            solver->factors().side(side).row_span(r),
            testing::Pointwise(testing::FloatNear(1e-4F), exact->factors().side(side).row_span(r)));
      }
    }
  }
}

/// Steps for some ratings of a larger matrix, as updates of a model take them.
TEST_P(SgdOnRanks, KnowTheWhole) {
  const CsrMatrix whole = test::random_csr(300, 120, 20.0, 3);
  const CsrMatrix part = test::random_csr(300, 120, 2.0, 4);
  const std::vector<Offset> users = entry_counts(whole.view(), Side::kUsers);
  const std::vector<Offset> items = entry_counts(whole.view(), Side::kItems);
  const SgdWhole of_whole{users, items, 1.7};
  for (const SgdOrder order : kOrders) {
    const SgdParams params = params_of(order);
    const Factors start = first_sgd_factors(whole.view(), params);
    const auto alone = make_alone(part, params, start, of_whole);
    const auto many = make_solver(part, params, start, of_whole);
    (void)alone->epoch(1, 0.05, {});
    (void)many->epoch(1, 0.05, {});
    test::expect_same_bits(many->take_factors(), alone->take_factors());
  }
}

/// In the loop of training, with a stop and a restart.
TEST_P(SgdOnRanks, GoOnWhereTheyWere) {
  const Interactions data = generate(parse_shape("500x200x8k"), 5);
  const CsrView m = data.by_user.view();
  for (const SgdOrder order : kOrders) {
    SgdParams params = params_of(order);
    params.iterations = 6;
    params.schedule = SgdSchedule::kBold;
    params.learning_rate = 0.01;
    const IterationResult whole = train_sgd(m, params, ranks());
    test::expect_same_bits(whole.factors, train_sgd(m, params, device()).factors);
    params.iterations = 2;
    const IterationResult part = train_sgd(m, params, ranks());
    params.iterations = 6;
    IterationRun rest;
    rest.start = &part.factors;
    rest.completed_iterations = 2;
    rest.history = part.iterations;
    test::expect_same_bits(train_sgd(m, params, ranks(), rest).factors, whole.factors);
  }
}

/// Ratings that do not stay on the GPUs: the same bits.
TEST_P(SgdOnRanks, StreamRatings) {
  const CsrMatrix m = test::random_csr(20000, 3000, 700.0, 9);  // 168 MB of entries
  for (const SgdOrder order : kOrders) {
    SCOPED_TRACE(kSgdOrderNames[static_cast<std::size_t>(order)]);
    SgdParams params = params_of(order);
    params.iterations = 2;
    const IterationResult whole = train_sgd(m.view(), params, device());
    const int sharing = GetParam().shared ? GetParam().ranks : 1;
    const SgdShape shape{m.rows, m.cols, m.nnz()};
    const Offset memory = sharing * (gpus()->plan(shape, params).total - (Offset{6} << 20));
    EXPECT_THAT(gpus(memory)->plan(shape, params).placement, HasSubstr("streamed"));
    const IterationResult streamed = train_sgd(m.view(), params, ranks(memory));
    test::expect_same_bits(streamed.factors, whole.factors);
  }
}

/// In the middle of an epoch, too.
TEST_P(SgdOnRanks, CanBeCancelled) {
  const CsrMatrix m = test::random_csr(30000, 9000, 100.0, 3);
  for (const SgdOrder order : kOrders) {
    for (const int wait : {0, 5, 50}) {
      const SgdParams params = params_of(order);
      const auto solver = make_solver(m, params, first_sgd_factors(m.view(), params));
      std::atomic<bool> cancel{wait == 0};
      RunControl control;
      control.cancel = &cancel;
      std::jthread caller([&, wait] {
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
      EXPECT_EQ(solver->take_factors().items.rows(), 9000);  // whatever they are
    }
  }
}

TEST_P(SgdOnRanks, TellHowTheyShareTheWork) {
  if (GetParam().ranks == 1) return;
  const CsrMatrix m = test::random_csr(300, 120, 20.0, 3);
  for (const SgdOrder order : kOrders) {
    const SgdParams params = params_of(order);
    std::vector<std::string> remarks;
    RunControl control;
    control.on_progress = [&](const ProgressUpdate& update) { remarks.emplace_back(update.stage); };
    const auto solver = make_solver(m, params, first_sgd_factors(m.view(), params));
    (void)solver->epoch(1, 0.05, control);
    (void)solver->epoch(2, 0.05, control);
    ASSERT_EQ(remarks.size(), 1U);
    EXPECT_THAT(
        remarks.front(),
        HasSubstr(fmt::format("sgd {} on {} GPUs: one gets up to",
                              kSgdOrderNames[static_cast<std::size_t>(order)], GetParam().ranks)));
  }
}

TEST_P(SgdOnRanks, RefuseOrdersThatTheyCannotShare) {
  const CsrMatrix m = test::random_csr(30, 20, 5.0, 2);
  const auto error_of = [&](SgdOrder order) {
    const SgdParams params = params_of(order);
    return test::error_of(ErrorKind::kInvalidArgument, [&] {
      (void)make_solver(m, params, first_sgd_factors(m.view(), params));
    });
  };
  EXPECT_THAT(error_of(SgdOrder::kSerial),
              HasSubstr("order: serial is one rating after the other"));
  if (GetParam().ranks == 1) return;
  EXPECT_EQ(error_of(SgdOrder::kRacing),
            fmt::format("order: racing is not shared out over {} GPUs; take blocked or alternating",
                        GetParam().ranks));
}

INSTANTIATE_TEST_SUITE_P(Cuda, SgdOnRanks, test::kGpuRanks, test::name_of_ranks);

}  // namespace
}  // namespace likewise
