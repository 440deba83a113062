// SPDX-License-Identifier: Apache-2.0
/// ALS over ranks: the same answer as that of one solver with all rows, for any number of ranks and
/// every kind of exchange.
#include "backends/cpu/als/ranked_als.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/als/als.h"
#include "algorithms/iteration_run.h"
#include "backends/cpu/jobs.h"
#include "backends/jobs/als_solver.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/control.h"
#include "likewise/model.h"
#include "likewise/synthetic.h"
#include "likewise/training.h"
#include "model/checkpoint.h"
#include "tests/backends/jobs/als_cases.h"
#include "tests/backends/jobs/als_oracle.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using test::Entry;
using testing::AllOf;
using testing::HasSubstr;

constexpr AlsExchange kExchanges[] = {AlsExchange::kReplicate, AlsExchange::kSums,
                                      AlsExchange::kNeeded};
constexpr const char* kExchangeNames[] = {"Replicate", "Sums", "Needed"};

/// Another number of ranks rounds the Gram matrix otherwise, in float32 within blocks of rows, and
/// with it the basis in which all rows are stored in float32: some 1e-7 of the numbers that a row's
/// system is made of. A row is at its minimum, so the objective changes by much less.
constexpr double kAlsObjective = 1e-6;
/// Three steps of conjugate gradients end before the minimum, where the objective changes with the
/// rounding of a step, of sums over 34,000 interactions in float32, by fewer lanes the longer ones.
constexpr double kAlsObjectiveOfSteps = 3e-6;
/// Of an exact solution, by condition numbers below 1e3.
constexpr double kFactors = 2e-4;
/// Of three steps of conjugate gradients: what is left of each step's rounding goes into the next
/// one, and a row of 34,000 interactions has residuals that are one sum in float32.
constexpr double kFactorsOfSteps = 2e-3;

[[nodiscard]] RankedAls ranked(int ranks, AlsExchange exchange) {
  return {ranks, {exchange, exchange}, std::chrono::seconds(60)};
}

/// The CPU, with ALS over ranks.
[[nodiscard]] Device ranked_als_device(const RankedAls& how) {
  class Job final : public AlsJob {
   public:
    explicit Job(RankedAls how) : how_(how) {}
    [[nodiscard]] MemoryPlan plan(const AlsShape& shape, const AlsParams& params) const override {
      return job<AlsJob>(make_cpu_device()).plan(shape, params);
    }
    [[nodiscard]] std::unique_ptr<AlsSolver> make_solver(const CsrView& by_user,
                                                         const AlsParams& params, Factors start,
                                                         int completed) const override {
      return make_ranked_als_solver(by_user, params, std::move(start), completed, how_);
    }

   private:
    RankedAls how_;
  };
  JobTable table;
  std::get<Offer<AlsJob>>(table).job = std::make_shared<Job>(how);
  return make_device(
      "ranks", [] { return std::string("threads as ranks"); }, std::move(table));
}

/// Every option that changes the mathematics, by Cholesky and by three steps of conjugate
/// gradients.
[[nodiscard]] std::vector<test::AlsCase> cases() {
  std::vector<test::AlsCases> groups = test::als_cases(7);
  groups.push_back(test::given_cases(true));
  groups.push_back(test::likes_cases());
  groups.push_back(test::nonnegative_cases());
  std::vector<test::AlsCase> all;
  for (const test::AlsCases& group : groups) {
    for (test::AlsCase one : group.cases) {
      // Not determined on matrices this small; widths are those of the solver of rows.
      if (one.params.regularization == 0.0 || one.params.factors != 7) continue;
      const std::string name = fmt::format("{}: {}", group.name, one.name);
      one.params.solver = AlsSolverKind::kCholesky;
      all.push_back({name + ", cholesky", one.params});
      if (one.params.nonnegative) continue;
      one.params.solver = AlsSolverKind::kCg;
      all.push_back({name + ", cg", one.params});
    }
  }
  test::AlsCase plain{"without a preconditioner", test::small_als(Feedback::kImplicit, 7)};
  plain.params.solver = AlsSolverKind::kCg;
  plain.params.cg_preconditioner = Preconditioner::kNone;
  all.push_back(plain);
  return all;
}

using RankedAlsCase = std::tuple<int, AlsExchange>;

class RankedAlsSolverTest : public testing::TestWithParam<RankedAlsCase> {
 protected:
  [[nodiscard]] static int ranks() { return std::get<0>(GetParam()); }
  [[nodiscard]] static AlsExchange exchange() { return std::get<1>(GetParam()); }
  [[nodiscard]] static RankedAls how() { return ranked(ranks(), exchange()); }
  [[nodiscard]] static std::unique_ptr<AlsSolver> make_solver(const CsrMatrix& m,
                                                              const AlsParams& params) {
    return make_ranked_als_solver(m.view(), params, test::first_factors(m.view(), params), 0,
                                  how());
  }
};

/// What a comparison met at most, for the report.
struct LargestErrors {
  double objective = 0.0;
  double factors = 0.0;
  ~LargestErrors() {
    testing::Test::RecordProperty(
        "largest", fmt::format("objective {:.1e}, factors {:.1e}", objective, factors));
  }
};

/// Each half-step from where one solver stands. Objectives in units of that of zero factors, where
/// that is more: their rounding is that of the sums which they are the small difference of.
void expect_same_half_steps(const CsrMatrix& m, const AlsParams& params, const RankedAls& how,
                            LargestErrors& largest, int half_steps = 4) {
  Factors at = test::first_factors(m.view(), params);
  for (int i = 0; i < half_steps; ++i) {
    SCOPED_TRACE(fmt::format("half-step {}", i));
    const Side side = test::kSides[i % 2];
    const auto one = make_cpu_als_solver(m.view(), params, at.clone(), i / 2);
    const auto many = make_ranked_als_solver(m.view(), params, at.clone(), i / 2, how);
    const double want = one->solve(side, {});
    const double got = many->solve(side, {});
    const double unit =
        std::max(std::abs(want), test::als_objective_of_nothing(m.view(), at, params));
    const double off = got == want ? 0.0 : std::abs(got - want) / unit;
    largest.objective = std::max(largest.objective, off);
    const bool exact = params.solver == AlsSolverKind::kCholesky;
    EXPECT_LE(off, exact ? kAlsObjective : kAlsObjectiveOfSteps) << got << ", not " << want;
    at = one->take_factors();
    const double apart = test::relative_difference(many->factors(), at, side);
    test::expect_zero_where_empty(m.view(), many->factors(), side);
    largest.factors = std::max(largest.factors, apart);
    EXPECT_LE(apart, exact ? kFactors : kFactorsOfSteps);
  }
}

/// Whole iterations, in which the differences of half-steps add up.
void expect_same_course(AlsSolver& one, AlsSolver& many, LargestErrors& largest) {
  for (int i = 0; i < 4; ++i) {
    const double want = one.solve(test::kSides[i % 2], {});
    const double off = std::abs(many.solve(test::kSides[i % 2], {}) / want - 1.0);
    largest.objective = std::max(largest.objective, off);
    EXPECT_LE(off, kAlsObjective) << "half-step " << i;
  }
  for (const Side side : test::kSides) {
    const double off = test::relative_difference(many.factors(), one.factors(), side);
    largest.factors = std::max(largest.factors, off);
    EXPECT_LE(off, kFactors) << side_name(side);
  }
}

TEST_P(RankedAlsSolverTest, SolvesAsOneSolverDoes) {
  LargestErrors largest;
  for (const auto& [name, params] : cases()) {
    for (const auto& [what, m] : test::matrices_of_ranks(params.feedback == Feedback::kImplicit)) {
      SCOPED_TRACE(fmt::format("{}, {}", name, what));
      expect_same_half_steps(m, params, how(), largest);
    }
  }
}

/// On data with structure, with auto's own choice of steps and exactly.
TEST_P(RankedAlsSolverTest, TrainsAsOneSolverDoes) {
  LargestErrors largest;
  const Interactions data = generate(parse_shape("2000x300x40k"), 5);
  const CsrView m = data.by_user.view();
  std::vector<test::AlsCase> cases;
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    test::AlsCase one{fmt::format("feedback {}", static_cast<int>(feedback)),
                      AlsParams::defaults(feedback)};
    one.params.factors = 24;
    one.params.solver = AlsSolverKind::kCholesky;
    cases.push_back(one);
    one.params.solver = AlsSolverKind::kCg;
    cases.push_back(one);
  }
  cases.push_back({"auto", AlsParams::defaults(Feedback::kExplicit)});
  cases.back().params.factors = 80;  // so many are not solved exactly
  cases.push_back({"auto, confidences below 1", AlsParams::defaults(Feedback::kImplicit)});
  cases.back().params.factors = 80;
  cases.back().params.confidence = Confidence::kGiven;
  cases.back().params.alpha = 0.1;
  cases.back().params.regularization = 1.0;
  for (const auto& [name, params] : cases) {
    SCOPED_TRACE(name);
    const Factors start = test::first_factors(m, params);
    const auto one = make_cpu_als_solver(m, params, start.clone(), 0);
    const auto many = make_ranked_als_solver(m, params, start.clone(), 0, how());
    expect_same_course(*one, *many, largest);
  }
}

/// So wide that the systems of all rows are not in memory at the same time.
TEST_P(RankedAlsSolverTest, WideRows) {
  LargestErrors largest;
  AlsParams params = test::small_als(Feedback::kImplicit, 512);
  params.solver = AlsSolverKind::kCg;
  params.cg_steps = 2;
  expect_same_half_steps(test::awkward_matrix(130, 70, true, 5), params, how(), largest, 2);
}

TEST_P(RankedAlsSolverTest, LongRowsBySteps) {
  LargestErrors largest;
  const CsrMatrix m = test::long_rows_matrix();
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    AlsParams params = test::small_als(feedback, 12);
    params.solver = AlsSolverKind::kCg;
    expect_same_half_steps(m, params, how(), largest);
  }
}

/// Held against the reference, not only against the other solver that shares code.
TEST_P(RankedAlsSolverTest, AHalfStepEqualsTheReference) {
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    AlsParams params = test::small_als(feedback, 7);
    params.solver = AlsSolverKind::kCholesky;
    std::vector<test::NamedMatrix> all = test::matrices_of_ranks(feedback == Feedback::kImplicit);
    all.push_back({"long rows", test::long_rows_matrix()});
    for (const auto& [what, m] : all) {
      // Those in the middle of training leave directions that nothing but lambda determines, where
      // rows are this long and few.
      const Factors start = what == "long rows" ? test::first_factors(m.view(), params)
                                                : test::trained_factors(m.view(), params);
      const double unit = test::als_objective_of_nothing(m.view(), start, params) + 1e-4;
      for (const Side side : test::kSides) {
        SCOPED_TRACE(fmt::format("{}, {}", what, side_name(side)));
        const auto exact =
            job<AlsJob>(open_device("reference")).make_solver(m.view(), params, start.clone());
        const double want = exact->solve(side, {});
        const auto many = make_ranked_als_solver(m.view(), params, start.clone(), 0, how());
        const double reported = many->solve(side, {});
        EXPECT_NEAR(test::als_objective(m.view(), many->factors(), params), want, 1e-8 * unit);
        EXPECT_NEAR(reported, want, 1e-5 * unit);  // as AlsOnDevice
        EXPECT_LT(test::relative_difference(many->factors(), exact->factors(), side), 5e-5);
      }
    }
  }
}

TEST_P(RankedAlsSolverTest, TheNumberOfThreadsDoesNotChangeABit) {
  for (const auto& [name, asked] : cases()) {
    SCOPED_TRACE(name);
    const AlsParams& params = asked;
    const CsrMatrix m = test::awkward_matrix(300, 90, params.feedback == Feedback::kImplicit, 9);
    std::vector<double> objectives;
    Factors first;
    for (const int threads : {1, 2, 5}) {
      with_threads(threads, [&] {
        const auto solver = make_solver(m, params);
        std::vector<double> now;
        for (int i = 0; i < 4; ++i) now.push_back(solver->solve(test::kSides[i % 2], {}));
        if (objectives.empty()) {
          objectives = now;
          first = solver->take_factors();
        } else {
          EXPECT_EQ(now, objectives) << threads;
          EXPECT_TRUE(test::same_factors(solver->factors(), first)) << threads;
        }
      });
    }
  }
}

TEST_P(RankedAlsSolverTest, MatricesWithoutRowsOrColumns) {
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    const AlsParams params = test::small_als(feedback, 5);
    for (const auto& [users, items] : {std::pair{0, 0}, {0, 5}, {5, 0}, {4, 4}}) {
      SCOPED_TRACE(fmt::format("{} x {}", users, items));
      const CsrMatrix m = test::make_csr(users, items, {});
      const auto exact =
          make_cpu_als_solver(m.view(), params, test::first_factors(m.view(), params), 0);
      const auto solver = make_solver(m, params);
      for (const Side side : test::kSides) {
        EXPECT_FLOAT_EQ(solver->solve(side, {}), exact->solve(side, {}));
        test::expect_zero_where_empty(m.view(), solver->factors(), side);
      }
    }
  }
}

TEST_P(RankedAlsSolverTest, ValidationCheckpointsAndEarlyStopAreThoseOfAnySolver) {
  const test::TemporaryFolder folder;
  const Device device = ranked_als_device(how());
  Interactions data = generate(parse_shape("300x80x6000"), 5);
  Model model;
  AlsParams params = test::small_als(Feedback::kExplicit, 140);
  params.iterations = 6;
  model.params = params;
  model.users = std::move(data.users);
  model.items = std::move(data.items);
  model.history = std::move(data.by_user);
  const CsrView m = model.history.view();
  ASSERT_FALSE(solves_exactly(params, {m.rows, m.cols, m.nnz()}));

  std::vector<Factors> seen;
  IterationRun run;
  run.validation = {"made up", true, [&](const Factors& factors) {
                      seen.push_back(factors.clone());
                      return seen.size() == 2 ? 1.0 : 0.0;
                    }};
  const IterationResult best = train_als(m, params, device, run);
  EXPECT_EQ(best.best_iteration, 2);
  EXPECT_TRUE(test::same_factors(best.factors, seen[1]));
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_NEAR(best.iterations[i].objective, test::als_objective(m, seen[i], params),
                1e-5 * best.iterations[i].objective);
  }

  IterationRun saving;
  saving.on_iteration = [&](const TrainingState& now) {
    if (now.iterations.size() == 4) save_checkpoint(model, now, folder / "state");
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

TEST_P(RankedAlsSolverTest, CanBeCancelled) {
  const CsrMatrix m = test::awkward_matrix(200, 90, true, 21);
  const AlsParams params = test::small_als(Feedback::kImplicit, 12);
  std::atomic<bool> cancel{true};
  RunControl control;
  control.cancel = &cancel;
  const auto solver = make_solver(m, params);
  EXPECT_EQ(
      test::error_of(ErrorKind::kCancelled, [&] { (void)solver->solve(Side::kUsers, control); }),
      "interrupted");
}

/// The error of one rank, with the row's number in the whole matrix.
TEST_P(RankedAlsSolverTest, TheRowThatHasNoSolutionIsNamed) {
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
  const auto solver = make_ranked_als_solver(m.view(), params, std::move(start), 0, how());
  EXPECT_THAT(test::error_of(ErrorKind::kNumerical, [&] { (void)solver->solve(Side::kUsers, {}); }),
              AllOf(HasSubstr("user row 7 (2 interactions)"), HasSubstr("larger regularization")));
}

TEST_P(RankedAlsSolverTest, TellsHowTheRanksShareTheWork) {
  const CsrMatrix m = test::awkward_matrix(60, 33, false, 7);
  const AlsParams params = test::small_als(Feedback::kImplicit, 7);
  std::vector<std::string> remarks;
  RunControl control;
  control.on_progress = [&](const ProgressUpdate& update) { remarks.emplace_back(update.stage); };
  const auto solver = make_solver(m, params);
  for (const Side side : test::kSides) (void)solver->solve(side, control);
  constexpr const char* kWords[] = {"all rows", "partial sums", "needed rows"};
  ASSERT_EQ(remarks.size(), 2U);
  const std::string way = kWords[static_cast<int>(exchange())];
  EXPECT_THAT(remarks[0], HasSubstr("users: ranks exchange " + way));
  EXPECT_THAT(remarks[1], HasSubstr("items: ranks exchange " + way));
}

INSTANTIATE_TEST_SUITE_P(Cpu, RankedAlsSolverTest,
                         testing::Combine(testing::Values(1, 2, 3, 5),
                                          testing::ValuesIn(kExchanges)),
                         [](const auto& test) {
                           return fmt::format(
                               "{}Of{}", kExchangeNames[static_cast<int>(std::get<1>(test.param))],
                               std::get<0>(test.param));
                         });

/// One rank does what a solver without ranks does, bit-identical.
TEST(RankedAls, OneRankIsTheSolverWithoutRanks) {
  for (const auto& [name, asked] : cases()) {
    const AlsParams& params = asked;
    const CsrMatrix m = test::awkward_matrix(300, 90, params.feedback == Feedback::kImplicit, 9);
    const Factors start = test::first_factors(m.view(), params);
    const auto alone = make_cpu_als_solver(m.view(), params, start.clone(), 0);
    for (const AlsExchange exchange : {AlsExchange::kReplicate, AlsExchange::kNeeded}) {
      SCOPED_TRACE(fmt::format("{}, {}", name, kExchangeNames[static_cast<int>(exchange)]));
      const auto again = make_cpu_als_solver(m.view(), params, start.clone(), 0);
      const auto one =
          make_ranked_als_solver(m.view(), params, start.clone(), 0, ranked(1, exchange));
      for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(one->solve(test::kSides[i % 2], {}), again->solve(test::kSides[i % 2], {}));
      }
      EXPECT_TRUE(test::same_factors(one->factors(), again->factors()));
    }
  }
}

/// Rows that a rank does not need do not change its sums.
TEST(RankedAls, NeededRowsGiveTheBitsOfAllRows) {
  for (const auto& [name, asked] : cases()) {
    const AlsParams& params = asked;
    SCOPED_TRACE(name);
    const CsrMatrix m = test::awkward_matrix(300, 90, params.feedback == Feedback::kImplicit, 9);
    const Factors start = test::first_factors(m.view(), params);
    const auto all = make_ranked_als_solver(m.view(), params, start.clone(), 0,
                                            ranked(3, AlsExchange::kReplicate));
    const auto needed =
        make_ranked_als_solver(m.view(), params, start.clone(), 0, ranked(3, AlsExchange::kNeeded));
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(needed->solve(test::kSides[i % 2], {}), all->solve(test::kSides[i % 2], {}));
    }
    EXPECT_TRUE(test::same_factors(needed->factors(), all->factors()));
  }
}

/// The two half-steps of a training may exchange in different ways; the plan chooses.
TEST(RankedAls, ThePlanMayChooseAnotherWayForEachSide) {
  const CsrMatrix m = test::long_rows_matrix();
  AlsParams params = test::small_als(Feedback::kImplicit, 12);
  params.solver = AlsSolverKind::kCholesky;
  RankedAls how;
  how.ranks = 3;
  std::vector<std::string> remarks;
  RunControl control;
  control.on_progress = [&](const ProgressUpdate& update) { remarks.emplace_back(update.stage); };
  (void)make_ranked_als_solver(m.view(), params, test::first_factors(m.view(), params), 0, how)
      ->solve(Side::kUsers, control);
  ASSERT_EQ(remarks.size(), 2U);
  EXPECT_THAT(remarks[0], HasSubstr("users: ranks exchange all rows"));
  EXPECT_THAT(remarks[1], HasSubstr("items: ranks exchange partial sums"));
}

TEST(RankedAls, NoRanksAreRefused) {
  const CsrMatrix m = test::awkward_matrix(20, 10, false, 1);
  const AlsParams params = test::small_als(Feedback::kImplicit, 3);
  for (const int ranks : {0, -2}) {
    EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                               [&] {
                                 (void)make_ranked_als_solver(
                                     m.view(), params, test::first_factors(m.view(), params), 0,
                                     ranked(ranks, AlsExchange::kReplicate));
                               }),
                HasSubstr(fmt::format("ranks must be 1 or more, not {}", ranks)));
  }
}

}  // namespace
}  // namespace likewise
