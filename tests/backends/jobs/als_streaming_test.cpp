// SPDX-License-Identifier: Apache-2.0
/// Training on a GPU that is given too little memory for everything: the same bits, wherever the
/// data lies. And stopping in the middle of it.
#include <atomic>
#include <chrono>
#include <ostream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/als/als.h"
#include "algorithms/iteration_run.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/als.h"
#include "likewise/device.h"
#include "likewise/synthetic.h"
#include "tests/backends/device_test.h"
#include "tests/backends/jobs/als_cases.h"
#include "tests/backends/jobs/als_oracle.h"

namespace likewise {
namespace {

using testing::HasSubstr;

struct StreamingCase {
  std::string name;
  AlsParams params;
};
void PrintTo(const StreamingCase& one, std::ostream* to) { *to << one.name; }

[[nodiscard]] AlsShape shape_of(const CsrMatrix& m) { return {m.rows, m.cols, m.nnz()}; }

class AlsStreaming : public test::DeviceTest<StreamingCase> {
 protected:
  [[nodiscard]] static const AlsParams& params() { return GetParam().params; }
  [[nodiscard]] static Device with_memory(Offset bytes) {
    return open_device(device().name(), {.device_memory = bytes});
  }

  /// Where a training puts what; empty where it is refused.
  [[nodiscard]] static std::string placement(const CsrMatrix& m, Offset memory) {
    try {
      return job<AlsJob>(with_memory(memory)).plan(shape_of(m), params()).placement;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kOutOfMemory);
      return {};
    }
  }

  /// The least memory with which things still lie as they do with `memory`: the smallest buffers.
  [[nodiscard]] static Offset least(const CsrMatrix& m, Offset memory) {
    const std::string wanted = placement(m, memory);
    Offset low = 1;
    while (memory - low > 1) {
      const Offset middle = low + (memory - low) / 2;
      (placement(m, middle) == wanted ? memory : low) = middle;
    }
    return memory;
  }

  /// A training with the least memory for each placement.
  static void expect_same_bits(const CsrMatrix& m) {
    const IterationResult whole = train_als(m.view(), params(), device());
    Offset memory = job<AlsJob>(device()).plan(shape_of(m), params()).total;
    std::vector<std::string> placements;
    for (int level = 0; level < 3; ++level) {
      memory = least(m, memory);
      placements.push_back(placement(m, memory));
      SCOPED_TRACE(placements.back());
      const IterationResult found = train_als(m.view(), params(), with_memory(memory));
      for (std::size_t i = 0; i < whole.iterations.size(); ++i) {
        EXPECT_EQ(found.iterations[i].objective, whole.iterations[i].objective) << "after " << i;
      }
      EXPECT_TRUE(test::same_factors(found.factors, whole.factors));
      --memory;
    }
    EXPECT_THAT(placements,
                testing::ElementsAre("everything on the GPU", HasSubstr("interactions streamed"),
                                     HasSubstr("interactions and factors streamed")));
    EXPECT_EQ(placement(m, memory), "");
  }
};

/// Blocks of 4096 rows, some without interactions.
TEST_P(AlsStreaming, ManyBlocksGiveTheSameBits) {
  expect_same_bits(test::awkward_matrix(9000, 300, params().feedback == Feedback::kImplicit, 3));
}

/// Rows of 20,000 and 34,000 interactions, of which 8192 are on the GPU at a time.
TEST_P(AlsStreaming, RowsLongerThanAPortionGiveTheSameBits) {
  expect_same_bits(test::long_rows_matrix());
}

TEST_P(AlsStreaming, TooLittleMemoryIsRefusedWithTheFigures) {
  const CsrMatrix m = test::few_rows_matrix();
  try {
    (void)train_als(m.view(), params(), with_memory(1000));
    ADD_FAILURE() << "trained in 1000 bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOutOfMemory);
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("factors"), HasSubstr("total"),
                                             HasSubstr("1.0 KiB"), HasSubstr("use fewer factors")));
  }
}

/// The factors are fetched in the middle, and training goes on from them.
TEST_P(AlsStreaming, FactorsMayBeLookedAt) {
  const CsrMatrix m = test::awkward_matrix(9000, 300, false, 11);
  const IterationResult whole = train_als(m.view(), params(), device());
  Offset memory = job<AlsJob>(device()).plan(shape_of(m), params()).total;
  for (int level = 0; level < 2; ++level) memory = least(m, memory) - 1;
  IterationRun run;
  double sum = 0.0;
  run.on_iteration = [&](const TrainingState& state) { sum += state.factors().users.row(1)[0]; };
  ASSERT_THAT(placement(m, memory), HasSubstr("factors streamed"));
  const IterationResult found = train_als(m.view(), params(), with_memory(least(m, memory)), run);
  EXPECT_TRUE(test::same_factors(found.factors, whole.factors));
  EXPECT_NE(sum, 0.0);
}

[[nodiscard]] std::vector<StreamingCase> streaming_cases() {
  std::vector<StreamingCase> cases;
  for (const int factors : {16, 128}) {
    const std::string name = std::to_string(factors);
    cases.push_back({"implicit_" + name, test::small_als(Feedback::kImplicit, factors)});
    cases.push_back({"explicit_" + name, test::small_als(Feedback::kExplicit, factors)});
  }
  // What large matrices get by default.
  for (StreamingCase& one : cases) one.params.precision = Precision::kFp16;
  cases.push_back({"wide", test::small_als(Feedback::kExplicit, 260)});
  cases.push_back({"moved_starts", test::small_als(Feedback::kImplicit, 260)});
  cases.back().params.iterations = 6;  // they move from the fourth on
  StreamingCase exact{"exact_float32", test::small_als(Feedback::kImplicit, 40)};
  exact.params.solver = AlsSolverKind::kCholesky;
  exact.params.regularization_exponent = 0.5;
  cases.push_back(exact);
  StreamingCase nonnegative{"nonnegative", test::small_als(Feedback::kExplicit, 40)};
  nonnegative.params.nonnegative = true;
  cases.push_back(nonnegative);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cuda, AlsStreaming, testing::ValuesIn(streaming_cases()),
                         [](const auto& test) { return test.param.name; });

class AlsStopping : public test::DeviceTest<int> {};

/// Half-steps that take long: whoever cancels does not wait for their end.
TEST_P(AlsStopping, TakesEffectWithinASecond) {
  using Clock = std::chrono::steady_clock;
  const Interactions data = generate(parse_shape("100kx2kx20m"), 3);
  const CsrView m = data.by_user.view();
  AlsParams params = AlsParams::defaults(Feedback::kExplicit);
  params.factors = GetParam();
  params.solver = AlsSolverKind::kCholesky;
  params.precision = Precision::kFp32;
  const auto solver = job<AlsJob>(device()).make_solver(m, params, test::first_factors(m, params));
  std::atomic<bool> cancel{false};
  Clock::time_point asked;
  std::thread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    asked = Clock::now();
    cancel = true;
  });
  RunControl control;
  control.cancel = &cancel;
  ErrorKind met = ErrorKind::kIo;
  try {
    while (true) {
      (void)solver->solve(Side::kUsers, control);
      (void)solver->solve(Side::kItems, control);
    }
  } catch (const Error& error) {
    met = error.kind();
  }
  user.join();
  EXPECT_EQ(met, ErrorKind::kCancelled);
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - asked).count(), 1.0);
  // Nothing of it is left over.
  const CsrMatrix small = test::few_rows_matrix();
  const AlsParams plain = test::small_als(Feedback::kExplicit, 12);
  const IterationResult after = train_als(small.view(), plain, device());
  const IterationResult again = train_als(small.view(), plain, device());
  EXPECT_TRUE(test::same_factors(after.factors, again.factors));
}

INSTANTIATE_TEST_SUITE_P(Cuda, AlsStopping, testing::Values(255));

}  // namespace
}  // namespace likewise
