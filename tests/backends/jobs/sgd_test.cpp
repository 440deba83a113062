// SPDX-License-Identifier: Apache-2.0
/// SGD: the reference against calculus, every device against the reference, and what each order of
/// updates promises.
#include "likewise/sgd.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "algorithms/iteration_run.h"
#include "algorithms/sgd/grid.h"
#include "algorithms/sgd/setup.h"
#include "algorithms/sgd/sgd.h"
#include "backends/cuda/host/sgd_work.h"
#include "backends/jobs/device_jobs.h"
#include "backends/reference/jobs.h"
#include "core/random.h"
#include "likewise/device.h"
#include "likewise/error.h"
#include "likewise/matrix.h"
#include "likewise/synthetic.h"
#include "tests/backends/device_test.h"
#include "tests/backends/jobs/sgd_cases.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using testing::HasSubstr;

/// Ratings from planted factors: predictable to a part.
CsrMatrix planted(Index users = 300, Index items = 120, double per_user = 20.0) {
  CsrMatrix m = test::random_csr(users, items, per_user, 5);
  CounterRandom random(3, kStreamSynthetic, 0);
  Matrix x(users, 3);
  Matrix y(items, 3);
  for (Matrix* side : {&x, &y}) {
    for (Index r = 0; r < side->rows(); ++r) {
      for (float& one : side->row_span(r)) one = static_cast<float>(random.normal());
    }
  }
  for (Index u = 0; u < users; ++u) {
    for (Offset at = m.offsets[u]; at < m.offsets[u + 1]; ++at) {
      const Index i = m.columns[at];
      const double taste = std::inner_product(x.row_span(u).begin(), x.row_span(u).end(),
                                              y.row_span(i).begin(), 0.0);
      m.values[at] = static_cast<float>(3.0 + 0.5 * taste + 0.2 * random.normal());
    }
  }
  return m;
}

SgdParams small(SgdOrder order = SgdOrder::kBlocked,
                SgdSchedule schedule = SgdSchedule::kAdaptive) {
  SgdParams params;
  params.factors = 12;
  params.iterations = 6;
  params.order = order;
  params.schedule = schedule;
  params.regularization = 0.05;
  params.regularization_exponent = 1.0;
  params.learning_rate = schedule == SgdSchedule::kAdaptive ? 0.1 : 0.02;
  return params;
}

void expect_near(const Factors& a, const Factors& b, double tolerance) {
  for (const Side side : {Side::kUsers, Side::kItems}) {
    ASSERT_EQ(a.side(side).rows(), b.side(side).rows());
    for (Index r = 0; r < a.side(side).rows(); ++r) {
      for (Index j = 0; j < a.side(side).cols(); ++j) {
        ASSERT_NEAR(a.side(side).row(r)[j], b.side(side).row(r)[j], tolerance) << "row " << r;
      }
      if (!b.bias(side).empty()) {
        ASSERT_NEAR(a.bias(side)[r], b.bias(side)[r], tolerance);
      }
      if (!b.squares(side).empty()) {
        ASSERT_NEAR(a.squares(side)[r], b.squares(side)[r], tolerance * (1 + b.squares(side)[r]));
      }
    }
  }
}

void expect_equal(const Factors& a, const Factors& b) {
  expect_near(a, b, 0.0);
  EXPECT_EQ(a.global_mean, b.global_mean);
}

/// The objective of one user and one item with one rating.
double objective(const Factors& f, float value, const SgdParams& p) {
  double score = double{f.global_mean} + double{f.user_bias[0]} + double{f.item_bias[0]};
  double squares = 0.0;
  for (Index j = 0; j < f.users.cols(); ++j) {
    const double x = f.users.row(0)[j];
    const double y = f.items.row(0)[j];
    score += x * y;
    squares += x * x + y * y;
  }
  const double biases = double{f.user_bias[0]} * double{f.user_bias[0]} +
                        double{f.item_bias[0]} * double{f.item_bias[0]};
  const double loss = p.loss == SgdLoss::kSquared
                          ? (value - score) * (value - score)
                          : 2.0 * std::log1p(std::exp(value > 0.0F ? -score : score));
  return loss + p.regularization * squares + bias_lambda(p) * biases;
}

/// A step of one rating goes against half the derivative of the objective, by finite differences.
TEST(Sgd, AStepIsAgainstTheGradient) {
  for (const SgdLoss loss : {SgdLoss::kSquared, SgdLoss::kLogistic}) {
    SCOPED_TRACE(kSgdLossNames[static_cast<std::size_t>(loss)]);
    SgdParams p;
    p.factors = 3;
    p.regularization_exponent = 1.0;
    p.schedule = SgdSchedule::kConstant;
    p.loss = loss;
    p.regularization = 0.3;
    p.bias_regularization = 0.7;
    const std::vector<test::Entry> cells{{0, 0, 4.0F}, {1, 1, -1.0F}};
    const CsrMatrix m = test::make_csr(2, 2, cells);
    const double spread = value_spread(m.view(), p).spread;
    Factors start = first_sgd_factors(m.view(), p);
    for (const Side side : {Side::kUsers, Side::kItems}) {
      for (Index j = 0; j < 3; ++j) {
        start.side(side).row(0)[j] = 0.3F * static_cast<float>(j + 1) - 0.4F;
      }
      start.bias(side)[0] = side == Side::kUsers ? 0.2F : -0.5F;
    }
    for (const char* device : {"reference", "cpu"}) {
      SCOPED_TRACE(device);
      const auto solver = job<SgdJob>(open_device(device)).make_solver(m.view(), p, start.clone());
      constexpr double kRate = 1e-3;
      (void)solver->epoch(1, kRate, {});
      const auto check = [&](const std::function<float&(Factors&)>& at, double scale) {
        constexpr double kStep = 1e-2;
        Factors up = start.clone();
        Factors down = start.clone();
        at(up) += static_cast<float>(kStep);
        at(down) -= static_cast<float>(kStep);
        const double distance = double{at(up)} - double{at(down)};
        const double slope = (objective(up, 4.0F, p) - objective(down, 4.0F, p)) / distance;
        Factors moved = solver->factors().clone();
        EXPECT_NEAR((double{at(moved)} - double{at(start)}) / (kRate * scale), -0.5 * slope, 2e-3);
      };
      for (const Side side : {Side::kUsers, Side::kItems}) {
        for (Index j = 0; j < 3; ++j) {
          check([&](Factors& f) -> float& { return f.side(side).row(0)[j]; }, 1.0 / spread);
        }
        check([&](Factors& f) -> float& { return f.bias(side)[0]; }, 1.0);
      }
    }
  }
}

class SgdOrders : public test::DeviceTest<std::tuple<SgdOrder, SgdSchedule>> {
 protected:
  /// The reference, in the blocks that this device has.
  [[nodiscard]] static IterationResult expected_of(const CsrMatrix& m, const SgdParams& params) {
    const SgdShape shape{m.rows, m.cols, m.nnz()};
    const bool blocks_of_a_gpu = on_gpu() && params.order == SgdOrder::kBlocked;
    const Index stripes = blocks_of_a_gpu ? gpu_sgd_stripes(shape) : sgd_stripes(shape, params);
    const auto solver = make_reference_sgd_solver(m.view(), params,
                                                  first_sgd_factors(m.view(), params), {}, stripes);
    IterationResult result;
    for (int t = 1; t <= params.iterations; ++t) {
      const double rate = epoch_rate(params, result.iterations);
      result.iterations.push_back({t, solver->epoch(t, rate, {}), 0.0, {}});
    }
    result.factors = solver->take_factors();
    return result;
  }
};

[[nodiscard]] float smallest(const Factors& factors) {
  float least = std::numeric_limits<float>::max();
  for (const Matrix* side : {&factors.users, &factors.items}) {
    for (Index r = 0; r < side->rows(); ++r) {
      least = std::min(least, *std::ranges::min_element(side->row_span(r)));
    }
  }
  return least;
}

std::string sgd_case_name(const testing::TestParamInfo<SgdOrders::ParamType>& info) {
  const auto [order, schedule] = info.param;
  return fmt::format("{}_{}", kSgdOrderNames[static_cast<std::size_t>(order)],
                     kSgdScheduleNames[static_cast<std::size_t>(schedule)]);
}

/// Of every width: in registers, and longer ones.
TEST_P(SgdOrders, EqualTheReference) {
  const auto [order, schedule] = GetParam();
  const CsrMatrix m = planted();
  for (const int factors : {1, 12, 16, 40, 64, 90, 128, 150}) {
    SCOPED_TRACE(fmt::format("{} factors", factors));
    SgdParams p = small(order, schedule);
    p.factors = factors;
    p.iterations = 3;
    p.biases = factors != 16;
    p.regularization_exponent = factors == 40 ? 0.5 : 1.0;
    p.precision = SgdPrecision::kFp32;
    p.nonnegative = factors == 12 || factors == 90 || factors == 150;
    const IterationResult expected = expected_of(m, p);
    const IterationResult found = train_sgd(m.view(), p, device());
    expect_near(found.factors, expected.factors, on_gpu() ? 1e-4 : 2e-5);
    if (p.nonnegative) {
      EXPECT_EQ(smallest(found.factors), 0.0F);
    }
    for (std::size_t t = 0; t < found.iterations.size(); ++t) {
      const double want = expected.iterations[t].objective;
      EXPECT_NEAR(found.iterations[t].objective, want, 1e-5 * want);
    }
  }
}

TEST_P(SgdOrders, DoNotDependOnThreads) {
  const auto [order, schedule] = GetParam();
  const CsrMatrix m = planted(900, 400, 25.0);
  const SgdParams p = small(order, schedule);
  const auto with = [&](std::size_t threads) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    tbb::task_arena arena(static_cast<int>(threads));
    return arena.execute([&] { return train_sgd(m.view(), p, device()); });
  };
  const IterationResult one = with(1);
  for (const std::size_t threads : {2, 7}) {
    const IterationResult many = with(threads);
    expect_equal(many.factors, one.factors);
    EXPECT_EQ(many.iterations.back().objective, one.iterations.back().objective);
  }
}

TEST_P(SgdOrders, LearnWhatWasPlanted) {
  const auto [order, schedule] = GetParam();
  const CsrMatrix m = planted(900, 300, 40.0);
  SgdParams p = small(order, schedule);
  p.iterations = 40;
  p.regularization = 0.02;
  const IterationResult result = train_sgd(m.view(), p, device());
  const auto n = static_cast<double>(m.nnz());
  const double spread = value_spread(m.view(), p).spread;
  EXPECT_GT(std::sqrt(result.iterations.front().objective / n), 0.7 * spread);
  EXPECT_LT(std::sqrt(result.iterations.back().objective / n), 0.5 * spread);
}

/// As without the break, bit-identical: rates and sums of squares come along.
TEST_P(SgdOrders, GoOnWhereTheyWere) {
  const auto [order, schedule] = GetParam();
  const CsrMatrix m = planted();
  SgdParams p = small(order, schedule);
  const IterationResult whole = train_sgd(m.view(), p, device());
  p.iterations = 2;
  const IterationResult part = train_sgd(m.view(), p, device());
  p.iterations = 6;
  IterationRun rest;
  rest.start = &part.factors;
  rest.completed_iterations = 2;
  rest.history = part.iterations;
  const IterationResult resumed = train_sgd(m.view(), p, device(), rest);
  expect_equal(resumed.factors, whole.factors);
  EXPECT_EQ(resumed.iterations.back().objective, whole.iterations.back().objective);
}

INSTANTIATE_TEST_SUITE_P(
    Cpu, SgdOrders,
    testing::Combine(testing::Values(SgdOrder::kBlocked, SgdOrder::kAlternating, SgdOrder::kSerial),
                     testing::Values(SgdSchedule::kAdaptive, SgdSchedule::kConstant,
                                     SgdSchedule::kInverse, SgdSchedule::kBold)),
    sgd_case_name);
INSTANTIATE_TEST_SUITE_P(
    Cuda, SgdOrders,
    testing::Combine(testing::Values(SgdOrder::kBlocked, SgdOrder::kAlternating),
                     testing::Values(SgdSchedule::kAdaptive, SgdSchedule::kConstant,
                                     SgdSchedule::kInverse, SgdSchedule::kBold)),
    sgd_case_name);

/// The work of GPUs that share a training.
std::vector<GpuSgdWork> works_of(const SgdGrid& grid, const SgdRowEntries& lines, bool by_block,
                                 int gpus, Offset portion) {
  std::vector<GpuSgdWork> works;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const Index rows = by_block ? grid.stripes : lines.rows();
    const SgdSpan own{rows * gpu / gpus, rows * (gpu + 1) / gpus};
    works.push_back(by_block ? work_by_block(grid, own, portion)
                             : work_by_line(lines, own, portion));
  }
  return works;
}

/// Entries of a launch, which `place` says where to find.
const SgdEntry& entry_of(const GpuSgdWork& work, const SgdLaunch& launch, Offset number) {
  return work.entries[launch.place + number - launch.first_entry];
}

/// Every rating is in one task of one GPU, and tasks of a launch share no row.
TEST(GpuSgdWork, HasEveryRatingOnce) {
  const CsrMatrix m = planted(500, 200, 30.0);
  const SgdGrid grid = make_sgd_grid(m.view(), gpu_sgd_stripes({500, 200, m.nnz()}), 1);
  const SgdGrid whole = make_sgd_grid(m.view(), 1, 1);
  const SgdRowEntries lines = entries_by_row(whole, Side::kItems);
  for (const int gpus : {1, 2, 3, 5}) {
    for (const Offset portion : {m.nnz(), Offset{500}}) {
      for (const bool by_block : {true, false}) {
        SCOPED_TRACE(fmt::format("{} GPUs, {}, {}", gpus, portion, by_block));
        std::vector<test::Entry> seen;
        for (const GpuSgdWork& work : works_of(grid, lines, by_block, gpus, portion)) {
          Offset place = 0;
          for (const SgdLaunch& launch : work.launches) {
            EXPECT_EQ(launch.place, place);
            place += launch.end_entry - launch.first_entry;
            EXPECT_TRUE(launch.end_entry - launch.first_entry <= portion ||
                        launch.end_task == launch.first_task + 1);
            std::vector<Index> task_of_user(500, -1);
            std::vector<Index> task_of_item(200, -1);
            for (Index task = launch.first_task; task < launch.end_task; ++task) {
              const SgdTask& one = work.tasks[static_cast<std::size_t>(task)];
              EXPECT_GE(one.begin, launch.first_entry);
              EXPECT_LE(one.end, launch.end_entry);
              if (task > launch.first_task) {
                const SgdTask& before = work.tasks[static_cast<std::size_t>(task) - 1];
                EXPECT_GE(before.end - before.begin, one.end - one.begin);
              }
              for (Offset at = one.begin; at < one.end; ++at) {
                const SgdEntry& e = entry_of(work, launch, at);
                const auto share = [&](std::vector<Index>& owner, Index row) {
                  Index& of_row = owner[static_cast<std::size_t>(row)];
                  EXPECT_TRUE(of_row < 0 || of_row == task);
                  of_row = task;
                };
                if (by_block) share(task_of_user, e.user), share(task_of_item, e.item);
                if (!by_block) share(task_of_item, e.user);
                const Index user = by_block ? e.user : e.item;
                const Index item = by_block ? e.item : e.user;
                seen.push_back({grid.users.row[user], grid.items.row[item], e.value});
              }
            }
          }
          EXPECT_EQ(place, work.entries.size());
        }
        const CsrMatrix again = test::make_csr(500, 200, seen);
        EXPECT_THAT(again.columns.span(),
                    testing::ElementsAreArray(m.columns.begin(), m.columns.end()));
        EXPECT_THAT(again.values.span(),
                    testing::ElementsAreArray(m.values.begin(), m.values.end()));
      }
    }
  }
}

/// Steps round by the number of their rating: on every GPU that of one GPU alone.
TEST(GpuSgdWork, NumbersOfRatingsDoNotDependOnGpus) {
  const CsrMatrix m = planted(500, 200, 30.0);
  const SgdGrid grid = make_sgd_grid(m.view(), gpu_sgd_stripes({500, 200, m.nnz()}), 1);
  const GpuSgdWork alone = work_by_block(grid, {0, grid.stripes}, m.nnz());
  Offset seen = 0;
  for (const GpuSgdWork& work : works_of(grid, {}, true, 3, 700)) {
    for (const SgdLaunch& launch : work.launches) {
      for (Offset at = launch.first_entry; at < launch.end_entry; ++at, ++seen) {
        const SgdEntry& e = entry_of(work, launch, at);
        EXPECT_EQ(e.user, alone.entries[at].user);
        EXPECT_EQ(e.item, alone.entries[at].item);
      }
    }
  }
  EXPECT_EQ(seen, m.nnz());
}

/// Further pieces go with their row.
TEST(GpuSgdWork, ALongRowIsOnOneGpu) {
  const CsrMatrix m = test::sgd_matrices().back().matrix.clone();
  const SgdRowEntries lines = entries_by_row(make_sgd_grid(m.view(), 1, 1), Side::kUsers);
  ASSERT_EQ(pieces_of(lines).size(), 1U);
  const SgdPieces pieces = pieces_of(lines).front();
  int found = 0;
  for (const GpuSgdWork& work : works_of({}, lines, false, 5, m.nnz())) {
    const auto has = [&](Index line) {
      return std::ranges::any_of(work.entries,
                                 [&](const SgdEntry& entry) { return entry.user == line; });
    };
    if (!has(pieces.row)) continue;
    ++found;
    for (Index line = pieces.first; line < pieces.last; ++line) EXPECT_TRUE(has(line));
    EXPECT_EQ(std::ssize(work.tasks) > pieces.last - pieces.first, true);
  }
  EXPECT_EQ(found, 1);
}

/// Lines begin elsewhere, and have what they had.
TEST(GpuSgdWork, TurnsLines) {
  const SgdGrid grid = make_sgd_grid(planted(500, 200, 30.0).view(), 1, 1);
  const SgdRowEntries before = entries_by_row(grid, Side::kUsers);
  SgdRowEntries rows = entries_by_row(grid, Side::kUsers);
  turn_lines(rows, 1);
  Index turned = 0;
  for (Index line = 0; line < rows.lines(); ++line) {
    const auto items = [line](const SgdRowEntries& of) {
      std::vector<Index> all;
      const auto at = static_cast<std::size_t>(line);
      for (Offset e = of.begin[at]; e < of.begin[at + 1]; ++e) all.push_back(of.entries[e].item);
      return all;
    };
    std::vector<Index> now = items(rows);
    const std::vector<Index> were = items(before);
    if (now != were) ++turned;
    if (!now.empty()) std::rotate(now.begin(), std::ranges::find(now, were.front()), now.end());
    EXPECT_EQ(now, were);
  }
  EXPECT_GT(turned, 400);
}

TEST(GpuSgdPlan, StreamsWhatDoesNotFit) {
  const SgdShape shape{1'000'000, 100'000, 300'000'000};
  SgdParams p;
  p.factors = 128;
  const auto plan_of = [&](Offset available) {
    return plan_gpu_sgd(even_sgd_share(shape, p, 1), p, 2, available);
  };
  const GpuSgdPlan whole = plan_of(Offset{64} << 30);
  EXPECT_FALSE(whole.streamed);
  EXPECT_EQ(whole.portion, shape.interactions);
  const GpuSgdPlan part = plan_of(Offset{2} << 30);
  EXPECT_TRUE(part.streamed);
  EXPECT_LE(part.memory.total, Offset{2} << 30);
  EXPECT_GT(part.portion, 0);
  EXPECT_THAT(test::error_of(ErrorKind::kOutOfMemory, [&] { (void)plan_of(Offset{200} << 20); }),
              AllOf(HasSubstr("factors, biases"), HasSubstr("use fewer factors")));
}

/// Ratings are shared out, and of `blocked` the users; each GPU has all other rows.
TEST(GpuSgdPlan, AShareHasItsPartOfTheRatings) {
  const SgdShape shape{1'000'000, 100'000, 300'000'000};
  SgdParams p;
  for (const SgdOrder order : {SgdOrder::kBlocked, SgdOrder::kAlternating}) {
    p.order = order;
    const GpuSgdShare one = even_sgd_share(shape, p, 1);
    const GpuSgdShare third = even_sgd_share(shape, p, 3);
    EXPECT_EQ(third.ratings, one.ratings / 3);
    EXPECT_EQ(third.users, order == SgdOrder::kBlocked ? 333'334 : 1'000'000);
    EXPECT_EQ(third.items, 100'000);
    EXPECT_LT(plan_gpu_sgd(third, p, 2, Offset{64} << 30).memory.total,
              plan_gpu_sgd(one, p, 2, Offset{64} << 30).memory.total);
  }
}

/// What only a GPU has.
class SgdOnGpu : public test::DeviceTest<int> {};

TEST_P(SgdOnGpu, LearnsInFloat16) {
  const CsrMatrix m = planted(2000, 800, 40.0);
  for (const SgdOrder order : {SgdOrder::kBlocked, SgdOrder::kAlternating, SgdOrder::kRacing}) {
    SCOPED_TRACE(kSgdOrderNames[static_cast<std::size_t>(order)]);
    SgdParams p = small(order);
    p.iterations = 12;
    p.factors = GetParam();
    p.precision = SgdPrecision::kFp32;
    const double wanted = train_sgd(m.view(), p, device()).iterations.back().objective;
    p.precision = SgdPrecision::kFp16;
    EXPECT_NEAR(train_sgd(m.view(), p, device()).iterations.back().objective, wanted,
                0.01 * wanted);
  }
}

/// An epoch ends between the ordered ones before and after it, and the last one where the ordered
/// training ends.
void expect_near_the_ordered_curve(const std::vector<Iteration>& racing,
                                   const std::vector<Iteration>& ordered, double tolerance) {
  ASSERT_EQ(racing.size(), ordered.size());
  for (std::size_t t = 1; t + 1 < ordered.size(); ++t) {
    EXPECT_LT(racing[t].objective, (1.0 + tolerance) * ordered[t - 1].objective)
        << "epoch " << t + 1;
    EXPECT_GT(racing[t].objective, (1.0 - tolerance) * ordered[t + 1].objective)
        << "epoch " << t + 1;
  }
  EXPECT_NEAR(racing.back().objective, ordered.back().objective,
              tolerance * ordered.back().objective);
}

/// What groups add to a row at the same time is added up.
TEST_P(SgdOnGpu, RacingStaysNearTheOrderedCurve) {
  const CsrMatrix m = planted(4000, 1600, 40.0);
  SgdParams p = small();
  p.factors = GetParam();
  p.iterations = 12;
  const auto ordered = train_sgd(m.view(), p, open_device("cpu")).iterations;
  p.order = SgdOrder::kRacing;
  expect_near_the_ordered_curve(train_sgd(m.view(), p, device()).iterations, ordered, 0.05);
}

/// Changes that are added up at the same time may go below 0, and end there.
TEST_P(SgdOnGpu, RacingKeepsFactorsNonnegative) {
  const CsrMatrix m = planted(4000, 1600, 40.0);
  for (const SgdSchedule schedule : {SgdSchedule::kAdaptive, SgdSchedule::kConstant}) {
    SgdParams p = small(SgdOrder::kRacing, schedule);
    p.factors = GetParam();
    p.iterations = 12;
    p.nonnegative = true;
    const IterationResult racing = train_sgd(m.view(), p, device());
    EXPECT_EQ(smallest(racing.factors), 0.0F);
    p.order = SgdOrder::kBlocked;
    const auto ordered = train_sgd(m.view(), p, open_device("cpu")).iterations;
    expect_near_the_ordered_curve(racing.iterations, ordered, 0.05);
  }
}

/// Ratings that do not stay on the GPU: the same bits.
TEST_P(SgdOnGpu, StreamsRatings) {
  const CsrMatrix m = planted(20000, 3000, 150.0);  // 36 MB of entries
  for (const SgdOrder order : {SgdOrder::kBlocked, SgdOrder::kAlternating}) {
    SCOPED_TRACE(kSgdOrderNames[static_cast<std::size_t>(order)]);
    SgdParams p = small(order);
    p.iterations = 3;
    p.factors = GetParam();
    const IterationResult whole = train_sgd(m.view(), p, device());
    DeviceOptions options;
    const MemoryPlan plan = job<SgdJob>(device()).plan({m.rows, m.cols, m.nnz()}, p);
    options.device_memory = plan.total - (Offset{8} << 20);
    const Device less = open_device("cuda", options);
    EXPECT_THAT(job<SgdJob>(less).plan({m.rows, m.cols, m.nnz()}, p).placement,
                HasSubstr("streamed"));
    const IterationResult streamed = train_sgd(m.view(), p, less);
    expect_equal(streamed.factors, whole.factors);
    EXPECT_EQ(streamed.iterations.back().objective, whole.iterations.back().objective);
  }
}

TEST_P(SgdOnGpu, RefusesWhatItCannot) {
  SgdParams p = small(SgdOrder::kSerial);
  const CsrMatrix m = planted();
  EXPECT_THAT(
      test::error_of(ErrorKind::kInvalidArgument, [&] { (void)train_sgd(m.view(), p, device()); }),
      HasSubstr("serial"));
  p = small();
  p.factors = 1025;
  EXPECT_THAT(
      test::error_of(ErrorKind::kInvalidArgument, [&] { (void)train_sgd(m.view(), p, device()); }),
      HasSubstr("up to 1024"));
}

INSTANTIATE_TEST_SUITE_P(Cuda, SgdOnGpu, testing::Values(12, 128));

/// Items of 6,000 and 2,000 ratings: in three pieces, and whole.
TEST(Sgd, LongRowsAreMovedInPieces) {
  const CsrMatrix all = planted(6000, 6, 6.0);
  std::vector<test::Entry> cells;
  for (Index u = 0; u < all.rows; ++u) {
    for (Offset at = all.offsets[u]; at < all.offsets[u + 1]; ++at) {
      if (all.columns[at] < 3 || u < 2000) cells.push_back({u, all.columns[at], all.values[at]});
    }
  }
  const CsrMatrix m = test::make_csr(6000, 6, cells);
  const SgdGrid grid = make_sgd_grid(m.view(), 1, 1);
  const SgdRowEntries items = entries_by_row(grid, Side::kItems);
  EXPECT_EQ(pieces_of(items).size(), 3U);
  std::vector<test::Entry> again;
  for (Index line = 0; line < items.lines(); ++line) {
    EXPECT_NEAR(static_cast<double>(items.size(line)), 2000.0, 200.0);
    const Index row =
        line < items.rows() ? line : items.piece_of[static_cast<std::size_t>(line - items.rows())];
    for (Offset at = 0; at < items.size(line); ++at) {
      const SgdEntry& e = items.entries[items.begin[static_cast<std::size_t>(line)] + at];
      EXPECT_EQ(e.user, line);
      again.push_back({grid.users.row[e.item], grid.items.row[row], e.value});
    }
  }
  const CsrMatrix rebuilt = test::make_csr(6000, 6, again);
  EXPECT_THAT(rebuilt.columns.span(),
              testing::ElementsAreArray(m.columns.begin(), m.columns.end()));
  EXPECT_THAT(rebuilt.values.span(), testing::ElementsAreArray(m.values.begin(), m.values.end()));
  SgdParams p = small(SgdOrder::kAlternating);
  const IterationResult expected = train_sgd(m.view(), p, open_device("reference"));
  const IterationResult found = train_sgd(m.view(), p, open_device("cpu"));
  expect_near(found.factors, expected.factors, 2e-5);
  p.order = SgdOrder::kBlocked;
  const double ordered = train_sgd(m.view(), p, open_device("cpu")).iterations.back().objective;
  EXPECT_LT(found.iterations.back().objective, 1.02 * ordered);
}

#ifndef LIKEWISE_PLAIN_THREADS
/// Threads overwrite each other, but seldom.
TEST(Sgd, RacingStaysNearTheOrderedCurve) {
  const CsrMatrix m = planted(2000, 800, 40.0);
  SgdParams p = small();
  p.iterations = 12;
  const auto ordered = train_sgd(m.view(), p, open_device("cpu")).iterations;
  p.order = SgdOrder::kRacing;
  expect_near_the_ordered_curve(train_sgd(m.view(), p, open_device("cpu")).iterations, ordered,
                                0.02);
}
#endif

/// Of steps that go on with a model: whatever the rate and the spread, no step goes beyond its
/// rating, and all devices shorten it alike.
TEST_P(SgdOrders, BoundedStepsDoNotOvershoot) {
  const auto [order, schedule] = GetParam();
  const CsrMatrix m = planted();
  SgdParams p = small(order, schedule);
  p.precision = SgdPrecision::kFp32;
  const SgdShape shape{m.rows, m.cols, m.nnz()};
  const bool blocks_of_a_gpu = on_gpu() && order == SgdOrder::kBlocked;
  const Index stripes = blocks_of_a_gpu ? gpu_sgd_stripes(shape) : sgd_stripes(shape, p);
  SgdWhole whole;
  whole.bounded = true;
  for (const double spread : {1e-4, 1.0}) {
    whole.spread = spread;
    const Factors first = first_sgd_factors(m.view(), p);
    const auto expected = make_reference_sgd_solver(m.view(), p, first.clone(), whole, stripes);
    const auto found = job<SgdJob>(device()).make_solver(m.view(), p, first.clone(), whole);
    for (int epoch = 1; epoch <= 3; ++epoch) {
      const double want = expected->epoch(epoch, 2.0, {});
      EXPECT_NEAR(found->epoch(epoch, 2.0, {}), want, 1e-3 * want);
      EXPECT_LT(want, 3.0 * objective_of_first(m.view(), p, value_spread(m.view(), p)));
    }
  }
}

/// Values times c need no other rate: predictions are multiplied by c.
TEST(Sgd, RatesAreRelativeToTheSpread) {
  CsrMatrix m = planted();
  SgdParams p = small();
  p.regularization = 0.0;
  p.iterations = 10;
  const IterationResult stars = train_sgd(m.view(), p, open_device("cpu"));
  for (float& value : m.values) value *= 20.0F;
  const IterationResult percents = train_sgd(m.view(), p, open_device("cpu"));
  EXPECT_NEAR(percents.iterations.back().objective / stars.iterations.back().objective, 400.0, 0.5);
}

TEST(Sgd, TellsLikesFromDislikes) {
  CsrMatrix m = planted(900, 300, 40.0);
  for (float& value : m.values) value = value > 3.0F ? 1.0F : -1.0F;
  SgdParams p = small();
  p.loss = SgdLoss::kLogistic;
  p.iterations = 30;
  const Factors f = train_sgd(m.view(), p, open_device("cpu")).factors;
  Offset right = 0;
  for (Index u = 0; u < m.rows; ++u) {
    for (Offset at = m.offsets[u]; at < m.offsets[u + 1]; ++at) {
      const Index i = m.columns[at];
      const double score =
          f.global_mean + f.user_bias[u] + f.item_bias[i] +
          std::inner_product(f.users.row_span(u).begin(), f.users.row_span(u).end(),
                             f.items.row_span(i).begin(), 0.0F);
      right += (score > 0.0) == (m.values[at] > 0.0F) ? 1 : 0;
    }
  }
  EXPECT_GT(static_cast<double>(right), 0.8 * static_cast<double>(m.nnz()));
  for (float& value : m.values) value = 1.0F;
  EXPECT_THAT(test::error_of(ErrorKind::kBadData,
                             [&] { (void)train_sgd(m.view(), p, open_device("cpu")); }),
              HasSubstr("all values here are likes"));
}

TEST(Sgd, DivergenceNamesEpochAndRate) {
  SgdParams p = small(SgdOrder::kBlocked, SgdSchedule::kConstant);
  p.learning_rate = 50.0;
  EXPECT_THAT(test::error_of(ErrorKind::kNumerical,
                             [&] { (void)train_sgd(planted().view(), p, open_device("cpu")); }),
              AllOf(HasSubstr("epoch "), HasSubstr("rate 50"), HasSubstr("smaller learning_rate")));
}

TEST(Sgd, LearnsFromRatingsOnly) {
  SgdParams p;
  p.feedback = Feedback::kImplicit;
  EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument, [&] { p.validate(); }),
              HasSubstr("feedback must be explicit"));
}

TEST(Sgd, RowsWithoutRatingsStayZero) {
  const std::vector<test::Entry> cells{{0, 0, 4.0F}, {2, 3, 1.0F}, {2, 0, 5.0F}};
  const Factors f =
      train_sgd(test::make_csr(4, 5, cells).view(), small(), open_device("cpu")).factors;
  for (const Index r : {1, 3}) {
    EXPECT_THAT(f.users.row_span(r), testing::Each(0.0F));
    EXPECT_EQ(f.user_bias[r], 0.0F);
  }
  EXPECT_NO_THROW((void)train_sgd(test::make_csr(0, 0, {}).view(), small(), open_device("cpu")));
}

/// Every rating is in one block, blocks of a turn share nothing, and stripes are about equal.
TEST(SgdGrid, HasEveryRatingOnce) {
  const CsrMatrix m = planted(500, 200, 30.0);
  const SgdGrid grid = make_sgd_grid(m.view(), 7, 1);
  std::vector<test::Entry> seen;
  for (Index turn = 0; turn < grid.stripes; ++turn) {
    for (Index p = 0; p < grid.stripes; ++p) {
      const Index q = grid.item_stripe(p, turn);
      for (const SgdEntry& e : grid.block(p, q)) {
        EXPECT_GE(e.user, grid.users.begin[static_cast<std::size_t>(p)]);
        EXPECT_LT(e.user, grid.users.begin[static_cast<std::size_t>(p) + 1]);
        EXPECT_GE(e.item, grid.items.begin[static_cast<std::size_t>(q)]);
        EXPECT_LT(e.item, grid.items.begin[static_cast<std::size_t>(q) + 1]);
        seen.push_back({grid.users.row[e.user], grid.items.row[e.item], e.value});
      }
    }
  }
  const CsrMatrix again = test::make_csr(500, 200, seen);
  EXPECT_EQ(std::vector<Index>(again.columns.begin(), again.columns.end()),
            std::vector<Index>(m.columns.begin(), m.columns.end()));
  EXPECT_EQ(std::vector<float>(again.values.begin(), again.values.end()),
            std::vector<float>(m.values.begin(), m.values.end()));
  for (Index p = 0; p < 7; ++p) {
    const Offset size = grid.begin[static_cast<std::size_t>(p * 7 + 7)] -
                        grid.begin[static_cast<std::size_t>(p * 7)];
    EXPECT_NEAR(static_cast<double>(size), static_cast<double>(m.nnz()) / 7.0,
                0.05 * static_cast<double>(m.nnz()));
  }
}

}  // namespace
}  // namespace likewise
