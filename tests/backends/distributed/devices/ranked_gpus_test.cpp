// SPDX-License-Identifier: Apache-2.0
/// ALS on several GPUs: what one GPU is held to (als_test.cpp), for any number of ranks.
#include <atomic>
#include <chrono>
#include <cmath>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/als/als.h"
#include "algorithms/iteration_run.h"
#include "backends/cuda/host/cuda_device.h"
#include "backends/cuda/host/gpu_plan.h"
#include "backends/cuda/host/load_plugin.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/model.h"
#include "likewise/synthetic.h"
#include "likewise/training.h"
#include "model/checkpoint.h"
#include "tests/backends/distributed/devices/gpu_ranks.h"
#include "tests/backends/jobs/als_cases.h"
#include "tests/backends/jobs/als_oracle.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using test::AlsCase;
using test::AlsStrategy;
using test::Entry;
using testing::AllOf;
using testing::HasSubstr;

/// The GPUs with ALS over ranks.
[[nodiscard]] Device ranked_gpus(const test::GpuRanks& one, Offset memory = 0) {
  const CudaPlugin& plugin = load_cuda_plugin();
  JobTable table;
  std::get<Offer<AlsJob>>(table).job =
      make_cuda_als_job(plugin, plugin.find_gpus(), one.devices(), memory);
  return make_device(
      "ranks", [] { return std::string("GPUs as ranks"); }, std::move(table));
}

/// Each solver and number format once, the default first.
[[nodiscard]] std::vector<AlsStrategy> strategies() {
  std::vector<AlsStrategy> some;
  for (const AlsStrategy& one : test::als_strategies("cuda")) {
    const bool sixteen = one.precision == Precision::kFp16 || one.precision == Precision::kBf16;
    if (one.solver != AlsSolverKind::kCholesky || !sixteen) some.push_back(one);
  }
  return some;
}

[[nodiscard]] std::vector<AlsCase> ranked_cases() {
  std::vector<AlsCase> all;
  for (const int factors : {7, 48, 100}) {
    all.push_back(
        {fmt::format("implicit {}", factors), test::small_als(Feedback::kImplicit, factors)});
    all.push_back(
        {fmt::format("explicit {}", factors), test::small_als(Feedback::kExplicit, factors)});
  }
  all.push_back({"implicit, wide", test::small_als(Feedback::kImplicit, 260)});
  all.push_back({"explicit, wide", test::small_als(Feedback::kExplicit, 260)});
  AlsParams lambdas = test::small_als(Feedback::kImplicit, 16);  // one of each row: eigenvectors
  lambdas.regularization_exponent = 0.7;
  all.push_back({"implicit, a lambda of each row", lambdas});
  lambdas.unobserved_weight = 0.1;
  all.push_back({"implicit, unobserved weight", lambdas});
  AlsParams plain = test::small_als(Feedback::kExplicit, 16);
  plain.biases = false;
  all.push_back({"explicit, without biases", plain});
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    AlsParams nonnegative = test::small_als(feedback, 70);
    nonnegative.nonnegative = true;
    all.push_back(
        {feedback == Feedback::kImplicit ? "implicit, nonnegative" : "explicit, nonnegative",
         nonnegative});
  }
  return all;
}

class AlsOnRanks : public test::GpuRanksTest {
 protected:
  [[nodiscard]] static Device ranks(Offset memory = 0) { return ranked_gpus(GetParam(), memory); }
  [[nodiscard]] static std::unique_ptr<AlsSolver> make_solver(const CsrMatrix& m,
                                                              const AlsParams& params,
                                                              const Factors& start,
                                                              int completed = 0) {
    return job<AlsJob>(ranks()).make_solver(m.view(), params, start.clone(), completed);
  }

  /// Holds a half-step against the exact solution, by the tolerances of one GPU.
  static void expect_half_step(const CsrMatrix& m, const AlsParams& params, Side side,
                               const AlsStrategy& strategy, const Factors& start,
                               const Factors& exact) {
    SCOPED_TRACE(fmt::format("{}, {}", strategy.name, side_name(side)));
    const auto solver = make_solver(m, strategy.applied_to(params), start);
    const double reported = solver->solve(side, {});
    const Factors& found = solver->factors();
    const double want = test::als_objective(m.view(), exact, params);
    const double got = test::als_objective(m.view(), found, params);
    const double unit = test::als_objective_of_nothing(m.view(), exact, params) + 1e-4;
    EXPECT_LE(std::abs(got - want) / unit, strategy.tolerance.objective);
    EXPECT_LE(std::abs(reported - got) / unit, strategy.tolerance.reported);
    EXPECT_LE(test::relative_difference(found, exact, side), strategy.tolerance.factors);
    EXPECT_EQ(test::relative_difference(found, start, other(side)), 0.0);
    test::expect_zero_where_empty(m.view(), found, side);
  }

  /// Where an even part would lie; empty where it does not fit.
  [[nodiscard]] static std::string placement(const CsrMatrix& m, const AlsParams& params,
                                             Offset memory) {
    try {
      return job<AlsJob>(ranks(memory)).plan({m.rows, m.cols, m.nnz()}, params).placement;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kOutOfMemory) << error.what();
      return {};
    }
  }

  static void expect_same_bits_with_less_memory(const CsrMatrix& m, const AlsParams& params) {
    const IterationResult whole = train_als(m.view(), params, ranks());
    Offset low = 1;
    Offset enough = Offset{1} << 30;
    while (enough - low > 1) {
      const Offset middle = low + (enough - low) / 2;
      (placement(m, params, middle).empty() ? low : enough) = middle;
    }
    int streamed = 0;
    for (const double times : {1.05, 1.2, 1.4, 1.7, 2.2, 3.0}) {  // parts are not quite even
      const auto memory = static_cast<Offset>(times * static_cast<double>(enough));
      SCOPED_TRACE(fmt::format("{} bytes: {}", memory, placement(m, params, memory)));
      IterationResult found;
      try {
        found = train_als(m.view(), params, ranks(memory));
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kOutOfMemory) << error.what();
        continue;
      }
      if (placement(m, params, memory).find("streamed") != std::string::npos) ++streamed;
      for (std::size_t i = 0; i < whole.iterations.size(); ++i) {
        EXPECT_EQ(found.iterations[i].objective, whole.iterations[i].objective) << i;
      }
      EXPECT_TRUE(test::same_factors(found.factors, whole.factors));
    }
    // Parts of fewer rows take the least where they are whole: two blocks are as much. Parts of one
    // or two items are far from even: what is enough for one that streams is too little for others.
    if (m.rows / GetParam().ranks > 2 * kLeastBlockRows && m.cols >= 2 * GetParam().ranks) {
      EXPECT_GT(streamed, 0);
    }
  }

  static void expect_half_steps(const CsrMatrix& m, const AlsParams& params,
                                const std::vector<AlsStrategy>& some) {
    const Factors start = test::trained_factors(m.view(), params);
    for (const Side side : test::kSides) {
      const auto exact =
          job<AlsJob>(open_device("reference")).make_solver(m.view(), params, start.clone());
      (void)exact->solve(side, {});
      for (const AlsStrategy& strategy : some) {
        if (!strategy.suits(params)) continue;
        expect_half_step(m, params, side, strategy, start, exact->factors());
      }
    }
  }
};

/// By NCCL, which takes a while to connect GPUs, the default strategy on one matrix: what is
/// computed is the same.
TEST_P(AlsOnRanks, AHalfStepEqualsTheReference) {
  const std::vector<AlsStrategy> some =
      GetParam().shared ? strategies() : std::vector{strategies().front()};
  for (const auto& [name, params] : ranked_cases()) {
    for (const auto& [what, m] : test::matrices_of_ranks(params.feedback == Feedback::kImplicit)) {
      SCOPED_TRACE(fmt::format("{}, {}", name, what));
      expect_half_steps(m, params, some);
      if (!GetParam().shared) break;
    }
  }
}

/// Rows of up to 34,000 interactions, cut in pieces, on one rank; the others have none or few.
TEST_P(AlsOnRanks, LongRowsEqualTheReference) {
  const CsrMatrix m = test::long_rows_matrix();
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    SCOPED_TRACE(static_cast<int>(feedback));
    const AlsParams params = test::small_als(feedback, 12);
    expect_half_steps(m, params, {strategies().front()});
  }
}

/// So many rows that the fixed side travels in several chunks.
TEST_P(AlsOnRanks, TrainsAsOneGpuDoes) {
  const Interactions data = generate(parse_shape("400kx900x2m"), 5);
  const CsrView m = data.by_user.view();
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    SCOPED_TRACE(static_cast<int>(feedback));
    AlsParams params = AlsParams::defaults(feedback);
    params.factors = 128;
    const Factors start = test::first_factors(m, params);
    const auto one = job<AlsJob>(device()).make_solver(m, params, start.clone());
    const auto many = make_solver(data.by_user, params, start);
    for (int i = 0; i < 6; ++i) {
      const double want = one->solve(test::kSides[i % 2], {});
      // What one GPU's training may be from an exact one's.
      EXPECT_NEAR(many->solve(test::kSides[i % 2], {}) / want, 1.0,
                  test::als_strategies("cuda").front().tolerance.drift)
          << "half-step " << i;
    }
  }
}

TEST_P(AlsOnRanks, RunsAreTheSameToTheBit) {
  for (const auto& [name, params] : ranked_cases()) {
    SCOPED_TRACE(name);
    const CsrMatrix m = test::awkward_matrix(200, 90, params.feedback == Feedback::kImplicit, 9);
    const Factors start = test::trained_factors(m.view(), params);
    const auto first = make_solver(m, params, start);
    const auto second = make_solver(m, params, start);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(first->solve(test::kSides[i % 2], {}), second->solve(test::kSides[i % 2], {}))
          << "half-step " << i;
      (void)second->factors();
    }
    const Factors looked_at = second->factors().clone();
    EXPECT_TRUE(test::same_factors(first->factors(), looked_at));
    EXPECT_TRUE(test::same_factors(second->take_factors(), looked_at));
  }
}

/// Copies within a GPU and between GPUs move the same bytes.
TEST_P(AlsOnRanks, RanksThatShareAGpuGiveTheSameBits) {
  if (GetParam().shared) return;
  const Interactions data = generate(parse_shape("300kx900x2m"), 6);
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    SCOPED_TRACE(static_cast<int>(feedback));
    AlsParams params = AlsParams::defaults(feedback);
    params.factors = 100;
    const Factors start = test::first_factors(data.by_user.view(), params);
    const auto apart = make_solver(data.by_user, params, start);
    const auto shared = job<AlsJob>(ranked_gpus({GetParam().ranks, true}))
                            .make_solver(data.by_user.view(), params, start.clone());
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(apart->solve(test::kSides[i % 2], {}), shared->solve(test::kSides[i % 2], {})) << i;
    }
    EXPECT_TRUE(test::same_factors(apart->factors(), shared->factors()));
  }
}

/// The same bits wherever a rank's data lies: blocks of 4096 rows, and rows longer than a portion.
TEST_P(AlsOnRanks, StreamingGivesTheSameBits) {
  const CsrMatrix all[] = {test::awkward_matrix(15000 * GetParam().ranks, 300, false, 3),
                           test::long_rows_matrix()};
  for (const CsrMatrix& m : all) {
    for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
      SCOPED_TRACE(fmt::format("{} items, {}", m.cols, static_cast<int>(feedback)));
      expect_same_bits_with_less_memory(m, test::small_als(feedback, 16));
    }
  }
}

TEST_P(AlsOnRanks, MatricesWithoutInteractions) {
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    const AlsParams params = test::small_als(feedback, 5);
    for (const auto& [users, items] : {std::pair{0, 0}, {0, 5}, {5, 0}, {4, 4}}) {
      SCOPED_TRACE(fmt::format("{} x {}", users, items));
      const CsrMatrix m = test::make_csr(users, items, {});
      const Factors start = test::first_factors(m.view(), params);
      const auto exact =
          job<AlsJob>(open_device("reference")).make_solver(m.view(), params, start.clone());
      const auto solver = make_solver(m, params, start);
      for (const Side side : test::kSides) {
        EXPECT_FLOAT_EQ(solver->solve(side, {}), exact->solve(side, {}));
        test::expect_zero_where_empty(m.view(), solver->factors(), side);
      }
    }
  }
}

TEST_P(AlsOnRanks, ValidationCheckpointsAndEarlyStopAreThoseOfAnySolver) {
  const test::TemporaryFolder folder;
  const Device device = ranks();
  Interactions data = generate(parse_shape("300x80x6000"), 5);
  Model model;
  AlsParams params = test::small_als(Feedback::kExplicit, 40);
  params.iterations = 3;
  model.params = params;
  model.users = std::move(data.users);
  model.items = std::move(data.items);
  model.history = std::move(data.by_user);
  const CsrView m = model.history.view();

  std::vector<Factors> seen;
  IterationRun run;
  run.validation = {"made up", true, [&](const Factors& factors) {
                      seen.push_back(factors.clone());
                      return seen.size() == 2 ? 1.0 : 0.0;
                    }};
  const IterationResult best = train_als(m, params, device, run);
  EXPECT_EQ(best.best_iteration, 2);
  EXPECT_TRUE(test::same_factors(best.factors, seen[1]));

  IterationRun saving;
  saving.on_iteration = [&](const TrainingState& now) {
    if (now.iterations.size() == 1) save_checkpoint(model, now, folder / "state");
  };
  const IterationResult whole = train_als(m, params, device, saving);
  const Model state = load_model(folder / "state");
  IterationRun rest;
  resume_from(state, rest);
  const IterationResult resumed = train_als(m, params, device, rest);
  EXPECT_TRUE(test::same_factors(resumed.factors, whole.factors));
  EXPECT_EQ(resumed.iterations.back().objective, whole.iterations.back().objective);

  params.tolerance = 0.5;
  EXPECT_EQ(train_als(m, params, device).stop_reason, "tolerance");
}

/// Before it begins, and in the middle of a half-step of some seconds.
TEST_P(AlsOnRanks, CanBeCancelled) {
  const CsrMatrix m = test::awkward_matrix(20000, 3000, false, 21);
  AlsParams params = test::small_als(Feedback::kExplicit, 512);
  params.solver = AlsSolverKind::kCholesky;
  const Factors start = test::first_factors(m.view(), params);
  for (const auto delay : {0, 20, 300}) {
    std::atomic<bool> cancel{delay == 0};
    RunControl control;
    control.cancel = &cancel;
    const auto solver = make_solver(m, params, start);
    std::jthread later([&, delay] {
      std::this_thread::sleep_for(std::chrono::milliseconds(delay));
      cancel = true;
    });
    EXPECT_EQ(test::error_of(ErrorKind::kCancelled,
                             [&] {
                               for (int i = 0; i < 1000; ++i) {
                                 (void)solver->solve(test::kSides[i % 2], control);
                               }
                             }),
              "interrupted");
  }
}

/// The error of one rank, with the row's number in the whole matrix. The others do not wait.
TEST_P(AlsOnRanks, TheRowThatHasNoSolutionIsNamed) {
  AlsParams params = test::small_als(Feedback::kExplicit, 3);
  params.solver = AlsSolverKind::kCholesky;
  params.regularization = 0.0;
  params.biases = false;
  std::vector<Entry> entries;
  for (Index u = 0; u < 12; ++u) {
    for (Index i = 0; i < 9; ++i) {
      if ((u == 7) == (i < 2)) entries.push_back({u, i, 1.0F + static_cast<float>((u + i) % 5)});
    }
  }
  const CsrMatrix m = test::make_csr(12, 9, entries);
  Factors start = test::first_factors(m.view(), params);
  for (const Index empty : {0, 1}) {
    for (float& x : start.items.row_span(empty)) x = 0.0F;
  }
  const auto solver = make_solver(m, params, start);
  EXPECT_THAT(test::error_of(ErrorKind::kNumerical, [&] { (void)solver->solve(Side::kUsers, {}); }),
              AllOf(HasSubstr("user row 7 (2 interactions)"), HasSubstr("larger regularization")));
}

TEST_P(AlsOnRanks, TellsHowTheGpusShareTheWork) {
  if (GetParam().ranks == 1) return;
  const CsrMatrix m = test::awkward_matrix(60, 33, false, 7);
  const AlsParams params = test::small_als(Feedback::kImplicit, 7);
  std::vector<std::string> remarks;
  RunControl control;
  control.on_progress = [&](const ProgressUpdate& update) { remarks.emplace_back(update.stage); };
  const auto solver = make_solver(m, params, test::first_factors(m.view(), params));
  for (const Side side : test::kSides) (void)solver->solve(side, control);
  ASSERT_EQ(remarks.size(), 2U);
  EXPECT_THAT(remarks[0], HasSubstr(fmt::format("users: each of {} GPUs", GetParam().ranks)));
  EXPECT_THAT(remarks[1], HasSubstr(fmt::format("items: each of {} GPUs", GetParam().ranks)));
  const RankTraffic* traffic = load_cuda_plugin().als->traffic(*solver);
  ASSERT_NE(traffic, nullptr);
  EXPECT_GT(traffic->bytes, 0);
  EXPECT_GE(traffic->seconds, traffic->exposed);
}

INSTANTIATE_TEST_SUITE_P(Cuda, AlsOnRanks, test::kGpuRanks, test::name_of_ranks);

class SomeGpus : public test::DeviceTest<int> {};

/// A GPU that some ranks share and others do not is a slip, of which nothing is made.
TEST_P(SomeGpus, AGpuThatIsNamedTwiceBesideOthersIsRefused) {
  const CsrMatrix m = test::awkward_matrix(20, 10, false, 1);
  const AlsParams params = test::small_als(Feedback::kImplicit, 3);
  const CudaPlugin& plugin = load_cuda_plugin();
  const auto gpus = make_cuda_als_job(plugin, plugin.find_gpus(), {0, 1, 0}, 0);
  EXPECT_THAT(test::error_of(ErrorKind::kDevice,
                             [&] {
                               (void)gpus->make_solver(m.view(), params,
                                                       test::first_factors(m.view(), params));
                             }),
              HasSubstr("name each GPU once"));
}

INSTANTIATE_TEST_SUITE_P(Cuda, SomeGpus, testing::Values(0));

}  // namespace
}  // namespace likewise
