// SPDX-License-Identifier: Apache-2.0
/// ALS by ranks that talk over TCP: the model of one process, whoever read what in whatever order.
#include "likewise/rank_training.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/als/als.h"
#include "algorithms/iteration_run.h"
#include "algorithms/rows_with_entries.h"
#include "backends/cuda/host/load_plugin.h"
#include "backends/distributed/als/als_ranks.h"
#include "backends/distributed/partition.h"
#include "backends/distributed/transport/socket_ranks.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/model.h"
#include "likewise/synthetic.h"
#include "likewise/training.h"
#include "tests/backends/fake_plugin.h"
#include "tests/backends/jobs/als_cases.h"
#include "tests/backends/jobs/als_oracle.h"
#include "tests/errors.h"

namespace likewise {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr Side kSides[] = {Side::kUsers, Side::kItems};

struct Cell {
  Index user;
  Index item;
  float value;
};

/// Ranks get ids with their rows, so that each has some.
[[nodiscard]] CsrMatrix some_matrix(Feedback feedback) {
  const CsrMatrix matrix = test::awkward_matrix(60, 33, feedback == Feedback::kImplicit, 7);
  return RowsWithEntries(matrix.view()).part_of(matrix.view());
}

[[nodiscard]] std::vector<Cell> cells_of(const CsrView& matrix) {
  std::vector<Cell> cells;
  for (Index u = 0; u < matrix.rows; ++u) {
    for (std::size_t e = 0; e < matrix.row_columns(u).size(); ++e) {
      cells.push_back({u, matrix.row_columns(u)[e], matrix.row_values(u)[e]});
    }
  }
  return cells;
}

[[nodiscard]] AlsParams some_params(Feedback feedback) {
  AlsParams params = AlsParams::defaults(feedback);
  params.factors = 7;
  params.biases = false;
  params.regularization = 0.1;
  params.init_stddev = 1.0;
  params.solver = AlsSolverKind::kCholesky;
  return params;
}

[[nodiscard]] std::vector<Index> parts_of(Index rows, int ranks) {
  std::vector<Index> firsts;
  for (int r = 0; r <= ranks; ++r) firsts.push_back(static_cast<Index>(Offset{rows} * r / ranks));
  return firsts;
}

using RankBody = std::function<void(RankTraining& rank, int number)>;

/// Ranks that are threads, which know each other by addresses only, each with its device, the last
/// for all further ones. Throws the shortest message.
void train_together(const CsrView& shape, const AlsParams& params, int size, RepeatedCells repeated,
                    const RankBody& body, const std::vector<std::string>& devices = {"cpu"}) {
  RankJob job;
  job.token = "t";
  job.params = params;
  job.repeated = repeated;
  job.users = parts_of(shape.rows, size);
  job.items = parts_of(shape.cols, size);
  job.patience = std::chrono::seconds(20);
  std::vector<RankListener> listeners;
  for (int r = 0; r < size; ++r) {
    listeners.emplace_back("127.0.0.1");
    job.addresses.push_back(address_text("127.0.0.1", listeners.back().port()));
  }
  std::mutex mutex;
  std::exception_ptr cause;
  std::string least;
  {
    std::vector<std::jthread> threads;
    for (int r = 0; r < size; ++r) {
      threads.emplace_back([&, r] {
        try {
          RankJob own = job;
          own.rank = r;
          RankTraining rank(
              std::move(listeners[static_cast<std::size_t>(r)]), own,
              open_device(devices[std::min(static_cast<std::size_t>(r), devices.size() - 1)]));
          body(rank, r);
        } catch (const std::exception& error) {
          const std::lock_guard lock(mutex);
          const std::string said = error.what();
          if (cause && said.size() >= least.size()) return;
          cause = std::current_exception();
          least = said;
        }
      });
    }
  }
  if (cause) std::rethrow_exception(cause);
}

void add_cells(RankTraining& rank, std::span<const Cell> cells) {
  std::vector<Index> users;
  std::vector<Index> items;
  std::vector<float> values;
  for (const Cell& cell : cells) {
    users.push_back(cell.user);
    items.push_back(cell.item);
    values.push_back(cell.value);
  }
  rank.add(users, items, values);
}

/// Every size-th cell, from the rank's on, in two goes.
void add_share(RankTraining& rank, int number, int size, std::span<const Cell> cells) {
  std::vector<Cell> mine;
  for (std::size_t i = static_cast<std::size_t>(number); i < cells.size();
       i += static_cast<std::size_t>(size)) {
    mine.push_back(cells[i]);
  }
  const std::size_t half = mine.size() / 2;
  add_cells(rank, std::span(mine).first(half));
  add_cells(rank, std::span(mine).subspan(half));
}

/// What all ranks learned, and the objectives of one of them.
struct Learned {
  Factors factors;
  std::vector<double> objectives;
  RankStart start;
};

void put(const Factors& part, int number, int size, Factors& all) {
  for (const Side side : kSides) {
    const Index first = parts_of(all.side(side).rows(), size)[static_cast<std::size_t>(number)];
    for (Index r = 0; r < part.side(side).rows(); ++r) {
      std::ranges::copy(part.side(side).row_span(r), all.side(side).row(first + r));
    }
  }
}

[[nodiscard]] Learned learn(const CsrView& shape, const std::vector<Cell>& cells,
                            const AlsParams& params, int size, int iterations,
                            RepeatedCells repeated = RepeatedCells::kError,
                            const Factors* start = nullptr, int completed = 0,
                            const std::vector<std::string>& devices = {"cpu"}) {
  Learned learned;
  learned.factors.users = Matrix(shape.rows, params.factors);
  learned.factors.items = Matrix(shape.cols, params.factors);
  std::mutex mutex;
  const RankBody body = [&](RankTraining& rank, int number) {
    add_share(rank, number, size, cells);
    Factors first;
    if (start != nullptr) {
      for (const Side side : kSides) {
        const auto firsts = parts_of(start->side(side).rows(), size);
        const Index begin = firsts[static_cast<std::size_t>(number)];
        first.side(side) =
            Matrix(firsts[static_cast<std::size_t>(number) + 1] - begin, params.factors);
        for (Index r = 0; r < first.side(side).rows(); ++r) {
          std::ranges::copy(start->side(side).row_span(begin + r), first.side(side).row(r));
        }
      }
    }
    const RankStart found = rank.begin(start == nullptr ? nullptr : &first, completed);
    std::vector<double> objectives;
    for (int i = 0; i < iterations; ++i) objectives.push_back(rank.step());
    const std::lock_guard lock(mutex);
    put(rank.factors(), number, size, learned.factors);
    if (!learned.objectives.empty()) {
      EXPECT_EQ(learned.objectives, objectives);
    }
    learned.objectives = objectives;
    learned.start = found;
  };
  train_together(shape, params, size, repeated, body, devices);
  return learned;
}

class RankTrainings : public testing::TestWithParam<std::tuple<Feedback, int>> {
 protected:
  [[nodiscard]] static Feedback feedback() { return std::get<0>(GetParam()); }
  [[nodiscard]] static int size() { return std::get<1>(GetParam()); }
};

TEST_P(RankTrainings, LearnWhatOneProcessDoes) {
  const CsrMatrix m = some_matrix(feedback());
  AlsParams params = some_params(feedback());
  std::vector<Cell> cells = cells_of(m.view());
  const Learned learned = learn(m.view(), cells, params, size(), 4);
  params.iterations = 4;
  const IterationResult alone = train_als(m.view(), params, open_device("cpu"));
  ASSERT_EQ(learned.objectives.size(), 4U);
  EXPECT_EQ(learned.start.interactions, m.view().nnz());
  EXPECT_EQ(learned.start.repeated, 0);
  EXPECT_EQ(learned.start.remarks.size(), size() == 1 ? 0U : 2U);
  // As ranks that are threads (ranked_als_test.cpp): another number of ranks rounds otherwise.
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(learned.objectives[i] / alone.iterations[i].objective, 1.0, 1e-6);
  }
  for (const Side side : kSides) {
    EXPECT_LE(test::relative_difference(learned.factors, alone.factors, side), 2e-4);
  }
}

TEST_P(RankTrainings, DoNotDependOnWhoReadWhat) {
  const CsrMatrix m = some_matrix(feedback());
  const AlsParams params = some_params(feedback());
  std::vector<Cell> cells = cells_of(m.view());
  const std::size_t once = cells.size();
  for (std::size_t i = 0; i < once; i += 3) cells.push_back({cells[i].user, cells[i].item, 0.1F});
  std::mt19937 random(5);
  std::ranges::shuffle(cells, random);
  const Learned one = learn(m.view(), cells, params, size(), 2, RepeatedCells::kSum);
  std::ranges::shuffle(cells, random);
  const Learned other = learn(m.view(), cells, params, size(), 2, RepeatedCells::kSum);
  EXPECT_EQ(one.start.interactions, m.view().nnz());
  EXPECT_EQ(one.start.repeated, static_cast<Offset>(cells.size() - once));
  EXPECT_EQ(one.objectives, other.objectives);
  for (const Side side : kSides) {
    EXPECT_EQ(test::relative_difference(one.factors, other.factors, side), 0.0);
  }
}

TEST_P(RankTrainings, GoOnWhereTheyStood) {
  const CsrMatrix m = some_matrix(feedback());
  AlsParams params = some_params(feedback());
  params.solver = AlsSolverKind::kCg;
  const std::vector<Cell> cells = cells_of(m.view());
  const Learned whole = learn(m.view(), cells, params, size(), 4);
  const Learned first = learn(m.view(), cells, params, size(), 2);
  const Learned rest =
      learn(m.view(), cells, params, size(), 2, RepeatedCells::kError, &first.factors, 2);
  EXPECT_EQ(whole.objectives[2], rest.objectives[0]);
  EXPECT_EQ(whole.objectives[3], rest.objectives[1]);
}

INSTANTIATE_TEST_SUITE_P(Sizes, RankTrainings,
                         testing::Combine(testing::Values(Feedback::kImplicit, Feedback::kExplicit),
                                          testing::Values(1, 2, 3)));

TEST(RankTraining, RepeatedCellsBecomeWhatWasAsked) {
  const CsrMatrix m = test::awkward_matrix(4, 3, false, 7);
  AlsParams params = some_params(Feedback::kExplicit);
  params.factors = 1;
  const std::vector<Cell> twice{{0, 0, 2.0F}, {1, 1, 3.0F}, {0, 0, 4.0F}};
  const auto objective_of = [&](const std::vector<Cell>& cells, RepeatedCells policy) {
    return learn(m.view(), cells, params, 2, 1, policy).objectives.front();
  };
  const auto once = [&](float value) {
    return objective_of({{0, 0, value}, {1, 1, 3.0F}}, RepeatedCells::kError);
  };
  EXPECT_EQ(objective_of(twice, RepeatedCells::kSum), once(6.0F));
  EXPECT_EQ(objective_of(twice, RepeatedCells::kMean), once(3.0F));
  EXPECT_EQ(objective_of(twice, RepeatedCells::kMax), once(4.0F));
  EXPECT_THAT(test::error_of(ErrorKind::kBadData,
                             [&] { (void)objective_of(twice, RepeatedCells::kError); }),
              HasSubstr("user 0 has item 0 2 times"));
}

TEST(RankTraining, WrongInteractionsAreNamed) {
  const CsrMatrix m = test::awkward_matrix(4, 3, false, 7);
  const AlsParams params = some_params(Feedback::kExplicit);
  const auto said = [&](const Cell& cell) {
    return test::error_of(ErrorKind::kBadData, [&] {
      (void)learn(m.view(), {{0, 0, 1.0F}, cell}, params, 2, 1);
    });
  };
  EXPECT_THAT(said({4, 0, 1.0F}), HasSubstr("user 4, item 0, value 1: users are 0 to 3"));
  EXPECT_THAT(said({0, -1, 1.0F}), HasSubstr("item -1"));
  EXPECT_THAT(said({0, 1, std::numeric_limits<float>::quiet_NaN()}), HasSubstr("value nan"));
  EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                             [&] {
                               train_together(m.view(), params, 2, RepeatedCells::kSum,
                                              [](RankTraining& rank, int) {
                                                rank.add(std::vector<Index>{1}, {}, {});
                                              });
                             }),
              HasSubstr("1 users, 0 items and 0 values"));
}

TEST(RankTraining, JobsThatCannotBeAreRefused) {
  const auto said = [](const std::function<void(RankJob&)>& change) {
    RankJob job;
    job.addresses = {"127.0.0.1:1"};
    job.token = "t";
    job.params = some_params(Feedback::kExplicit);
    job.users = {0, 4};
    job.items = {0, 3};
    change(job);
    return test::error_of(ErrorKind::kInvalidArgument, [&] {
      RankTraining rank(RankListener("127.0.0.1"), job, open_device("cpu"));
    });
  };
  EXPECT_THAT(said([](RankJob& j) { j.users = {0, 4, 9}; }), HasSubstr("the first users of 1"));
  EXPECT_THAT(said([](RankJob& j) { j.items = {1, 4}; }), HasSubstr("the first items of 1"));
  EXPECT_THAT(said([](RankJob& j) { j.params.biases = true; }), HasSubstr("biases off"));
  EXPECT_THAT(said([](RankJob& j) { j.params.factors = 0; }), HasSubstr("factors must be"));
  EXPECT_THAT(said([](RankJob& j) { j.token = ""; }), HasSubstr("token"));
}

TEST(RankTraining, CallsInAnotherOrderAreRefused) {
  const CsrMatrix m = test::awkward_matrix(4, 3, false, 7);
  const AlsParams params = some_params(Feedback::kExplicit);
  const auto said = [&](const RankBody& body) {
    return test::error_of(ErrorKind::kInvalidArgument,
                          [&] { train_together(m.view(), params, 1, RepeatedCells::kSum, body); });
  };
  EXPECT_THAT(said([](RankTraining& rank, int) { (void)rank.step(); }), HasSubstr("begins before"));
  EXPECT_THAT(said([](RankTraining& rank, int) { (void)rank.factors(); }),
              HasSubstr("once it has"));
  EXPECT_THAT(said([](RankTraining& rank, int) {
                (void)rank.begin();
                (void)rank.begin();
              }),
              HasSubstr("begins once"));
}

TEST(RankTraining, OneThatGivesUpEndsAll) {
  const CsrMatrix m = some_matrix(Feedback::kImplicit);
  const std::vector<Cell> cells = cells_of(m.view());
  EXPECT_EQ(test::error_of(ErrorKind::kDevice,
                           [&] {
                             train_together(m.view(), some_params(Feedback::kImplicit), 3,
                                            RepeatedCells::kSum,
                                            [&](RankTraining& rank, int number) {
                                              add_share(rank, number, 3, cells);
                                              (void)rank.begin();
                                              if (number == 1) rank.abort("the disk is full");
                                              (void)rank.step();
                                            });
                           }),
            "rank 1 of 3: the disk is full");
}

/// Ranks with a GPU each: those of the fake plug-in compute as the CPU does.
class RanksOnGpus : public testing::Test {
 protected:
  [[nodiscard]] Learned learn_on(const std::vector<std::string>& devices, int iterations = 3,
                                 const Factors* start = nullptr, int completed = 0) const {
    return learn(matrix.view(), cells, params, static_cast<int>(devices.size()), iterations,
                 RepeatedCells::kError, start, completed, devices);
  }
  [[nodiscard]] std::string refusal(const std::vector<std::string>& devices,
                                    ErrorKind kind = ErrorKind::kInvalidArgument) const {
    return test::error_of(kind, [&] { (void)learn_on(devices); });
  }

  CsrMatrix matrix = some_matrix(Feedback::kImplicit);
  std::vector<Cell> cells = cells_of(matrix.view());
  AlsParams params = some_params(Feedback::kImplicit);
};

TEST_F(RanksOnGpus, LearnWhatOneProcessDoes) {
  const test::FakePlugin plugin("several");
  AlsParams alone = params;
  alone.iterations = 3;
  const IterationResult wanted = train_als(matrix.view(), alone, open_device("cpu"));
  for (const std::vector<std::string>& devices :
       {std::vector<std::string>{"cuda:1"}, {"cuda:1", "cuda:3"}, {"cuda:4", "cuda:1", "cuda:3"}}) {
    const Learned learned = learn_on(devices);
    EXPECT_NEAR(learned.objectives.back() / wanted.iterations[2].objective, 1.0, 1e-6);
    if (devices.size() == 1) continue;
    EXPECT_EQ(learned.start.remarks, std::vector<std::string>{"by NCCL 2.28.9"});
  }
}

TEST_F(RanksOnGpus, GoOnWhereTheyStood) {
  const test::FakePlugin plugin("several");
  const std::vector<std::string> devices{"cuda:1", "cuda:3"};
  const Learned whole = learn_on(devices, 4);
  const Learned first = learn_on(devices, 2);
  const Learned rest = learn_on(devices, 2, &first.factors, 2);
  EXPECT_EQ(whole.objectives[3], rest.objectives[1]);
}

TEST_F(RanksOnGpus, DevicesThatCannotTrainTogetherAreRefused) {
  {
    const test::FakePlugin plugin("several");
    EXPECT_THAT(refusal({"cuda:3", "cuda:3"}),
                AllOf(HasSubstr("rank 0 on "), HasSubstr("(cuda:3) and rank 1 on "),
                      HasSubstr("have the same GPU: each rank needs one of its own")));
    EXPECT_THAT(refusal({"cuda:1", "cuda:3", "cuda:5"}),
                AllOf(HasSubstr("cuda:1, Fine GPU with 132 multiprocessors, and rank 2 on "),
                      HasSubstr("cuda:5, Other GPU"), HasSubstr("devices of one kind")));
    EXPECT_THAT(refusal({"cuda:1", "cpu"}), HasSubstr("cpu, a processor"));
    EXPECT_THAT(refusal({"cuda:1", "cuda:3,4"}),
                HasSubstr("a rank among others trains on one GPU"));
    EXPECT_THAT(refusal({"reference", "reference"}),
                HasSubstr("a rank among others trains on the cpu or on one GPU"));
    const test::Variable alone("FAKE_PLUGIN_ALONE", "yes");
    EXPECT_THAT(refusal({"cuda:1", "cuda:3"}),
                AllOf(HasSubstr("rank 0 on "), HasSubstr("(cuda:1): the link is down")));
    EXPECT_EQ(learn_on({"cuda:1"}).objectives.size(), 3U);  // it needs none
  }
  // Two numbers of one GPU, as two containers may see it.
  const test::FakePlugin plugin("twins");
  EXPECT_THAT(refusal({"cuda:1", "cuda:4"}), HasSubstr("have the same GPU"));
}

TEST_F(RanksOnGpus, AGpuThatIsLostEndsAll) {
  const test::FakePlugin plugin("several");
  const test::Variable lost("FAKE_PLUGIN_LOST", "3");
  EXPECT_EQ(refusal({"cuda:1", "cuda:3"}, ErrorKind::kDevice), "cuda:3: the GPU fell off the bus");
}

TEST_F(RanksOnGpus, NothingIsLeftOfATrainingThatFailed) {
  const test::FakePlugin plugin("several");
  const test::Variable lost("FAKE_PLUGIN_LOST", "1");
  std::mutex mutex;
  std::vector<std::string> said;
  const RankBody body = [&](RankTraining& rank, int number) {
    add_share(rank, number, 2, cells);
    (void)rank.begin();
    for (const auto& call : {std::function<void()>([&] { (void)rank.step(); }),
                             std::function<void()>([&] { (void)rank.step(); }),
                             std::function<void()>([&] { (void)rank.factors(); })}) {
      const std::string message = test::error_of(ErrorKind::kDevice, call);
      const std::lock_guard lock(mutex);
      said.push_back(message);
    }
  };
  train_together(matrix.view(), params, 2, RepeatedCells::kError, body, {"cuda:1", "cuda:3"});
  EXPECT_EQ(said.size(), 6U);
  EXPECT_THAT(said, testing::Each(HasSubstr("cuda:3: the GPU fell off the bus")));
}

/// Real ones, by NCCL.
class RanksOnRealGpus : public RanksOnGpus {
 protected:
  void need(int gpus) {
    std::string problem;
    int found = 0;
    try {
      found = static_cast<int>(load_cuda_plugin().find_gpus().gpus.size());
      problem = load_cuda_plugin().connection_problem();
    } catch (const Error& error) {
      problem = error.what();
    }
    if (found < gpus)
      GTEST_SKIP() << "there are " << found << " GPUs of " << gpus << " " << problem;
    if (!problem.empty()) GTEST_SKIP() << problem;
  }
  [[nodiscard]] IterationResult alone_on_gpu(int iterations) {
    AlsParams same = params;
    same.iterations = iterations;
    return train_als(matrix.view(), same, open_device("cuda:0"));
  }
};

TEST_F(RanksOnRealGpus, TwoOnOneGpuAreRefused) {
  need(1);
  if (IsSkipped()) return;
  EXPECT_THAT(refusal({"cuda:0", "cuda:0"}),
              AllOf(HasSubstr("rank 0 on "), HasSubstr("have the same GPU")));
}

TEST_F(RanksOnRealGpus, OneAloneByNcclLearnsWhatOneGpuDoes) {
  need(1);
  if (IsSkipped()) return;
  const CsrMatrix by_item = transpose(matrix.view());
  AlsRanksPlan plan{{matrix.view().rows, matrix.view().cols, matrix.view().nnz()},
                    cut_evenly(matrix.view().rows, 1),
                    cut_evenly(matrix.view().cols, 1),
                    {}};
  const Device device = open_device("cuda:0");
  std::vector<double> objectives;
  run_thread_ranks(
      1, std::chrono::seconds(60), {}, [&](Communicator& ranks, const RunControl& control) {
        std::vector<std::string> remarks;
        const auto rank = job<AlsJob>(device).make_rank(
            ranks, {plan, params, 0, control, std::chrono::seconds(60), remarks},
            {matrix.view(), by_item.view(), test::first_factors(matrix.view(), params)});
        for (int i = 0; i < 3; ++i) {
          (void)rank->solve(ranks, Side::kUsers, control);
          objectives.push_back(rank->solve(ranks, Side::kItems, control));
        }
        EXPECT_EQ(rank->factors().users.rows(), matrix.view().rows);
      });
  const IterationResult wanted = alone_on_gpu(3);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(objectives[i] / wanted.iterations[i].objective, 1.0, 1e-6);
  }
}

TEST_F(RanksOnRealGpus, TwoLearnWhatOneDoes) {
  need(2);
  if (IsSkipped()) return;
  const Learned learned = learn_on({"cuda:0", "cuda:1"});
  const IterationResult wanted = alone_on_gpu(3);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(learned.objectives[i] / wanted.iterations[i].objective, 1.0, 1e-6);
  }
}

TEST(RankTraining, AnEmptyTrainingHasNoFactors) {
  const CsrMatrix none{0, 0, Array<Offset>(1), {}, {}};
  const Learned learned = learn(none.view(), {}, some_params(Feedback::kImplicit), 2, 1);
  EXPECT_EQ(learned.objectives, std::vector<double>{0.0});
}

}  // namespace
}  // namespace likewise
