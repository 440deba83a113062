// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/als.h"
#include "likewise/backend.h"
#include "likewise/error.h"
#include "tests/model/model_support.h"

namespace likewise {
namespace {

using test::Ids;
using test::make_model;

TEST(Checkpoint, HoldsTheGivenFactorsAndReports) {
  const test::TemporaryFolder folder;
  Model model = make_model({6, 8, 7, Ids::kText, true});
  const Factors later = make_model({6, 8, 7, Ids::kRange, true}).factors.clone();
  model.factors = {};  // the trainer still has them
  const std::array<AlsIteration, 3> reports{AlsIteration{1, 3.0 / 7.0, 0.3, 0.1},
                                            {2, 2.0 / 7.0, 0.2, 0.2},
                                            {3, 1.0 / 7.0, 0.1, std::nullopt}};
  save_checkpoint(model, later, reports, folder / "checkpoint");

  const Model back = load_model(folder / "checkpoint");
  test::expect_same_factors(later, back.factors);
  EXPECT_EQ(back.best_iteration, 3);
  AlsRun run;
  run.history = {{9, 9.0, 9.0, 9.0}};
  resume_from(back, run);
  EXPECT_EQ(run.start, &back.factors);
  EXPECT_EQ(run.completed_iterations, 3);
  test::expect_same_iterations(run.history, reports);
}

TEST(Checkpoint, BeforeTheFirstIteration) {
  const test::TemporaryFolder folder;
  const Model model = make_model({6, 8, 7, Ids::kText, false});
  save_checkpoint(model, model.factors, {}, folder / "checkpoint");
  const Model back = load_model(folder / "checkpoint");
  AlsRun run;
  resume_from(back, run);
  EXPECT_EQ(run.completed_iterations, 0);
  EXPECT_TRUE(run.history.empty());
}

TEST(Resume, GoesOnAfterTheBestIterationOnly) {
  Model model = make_model({});
  model.best_iteration = 1;  // the factors are those of iteration 1: 2 has to be done again
  AlsRun run;
  resume_from(model, run);
  EXPECT_EQ(run.completed_iterations, 1);
  ASSERT_EQ(run.history.size(), 1U);
  EXPECT_EQ(run.history[0].iteration, 1);
}

/// Four iterations at once, and two, a checkpoint file, and two more.
void expect_same_after_break(Feedback feedback, Index factors) {
  const test::TemporaryFolder folder;
  const CsrMatrix by_user = test::random_csr(40, 30, 6.0);
  AlsParams params = AlsParams::defaults(feedback);
  params.factors = factors;
  params.iterations = 4;
  const auto backend = open_backend("cpu");
  const AlsResult whole = train_als(by_user.view(), params, *backend);

  Model model;
  model.algorithm = "als";
  model.users = IdMap::range(40);
  model.items = IdMap::range(30);
  model.history = by_user.clone();
  model.als = params;
  std::vector<AlsIteration> reports;
  AlsRun first;
  first.on_iteration = [&](const AlsIteration& report, const FetchFactors& now) {
    reports.push_back(report);
    if (report.iteration == 2) save_checkpoint(model, now(), reports, folder / "checkpoint");
  };
  (void)train_als(by_user.view(), params, *backend, first);

  const Model checkpoint = load_model(folder / "checkpoint");
  AlsRun second;
  resume_from(checkpoint, second);
  const AlsResult resumed = train_als(by_user.view(), checkpoint.als, *backend, second);
  test::expect_same_factors(whole.factors, resumed.factors);
  ASSERT_EQ(resumed.iterations.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(resumed.iterations[i].objective, whole.iterations[i].objective) << i;
  }
}

TEST(Checkpoint, TrainingGoesOnAsWithoutTheBreak) {
  expect_same_after_break(Feedback::kImplicit, 16);
  expect_same_after_break(Feedback::kImplicit, 7);
  expect_same_after_break(Feedback::kExplicit, 5);
}

Interactions interactions(IdMap users, IdMap items) {
  Interactions data;
  data.by_user = test::random_csr(users.size(), items.size(), 2.0);
  data.users = std::move(users);
  data.items = std::move(items);
  return data;
}

void expect_refused(const Model& model, const Interactions& data, const char* part) {
  try {
    require_same_ids(model, data);
    FAIL() << "accepted: " << part;
  } catch (const Error& fault) {
    EXPECT_EQ(fault.kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(fault.what(), testing::HasSubstr(part));
  }
}

TEST(SameIds, AreRequired) {
  for (const Ids kind : {Ids::kRange, Ids::kIntegers, Ids::kText}) {
    const Model model = make_model({5, 9, 1, kind, false});
    require_same_ids(model, interactions(model.users.clone(), model.items.clone()));
    const auto fewer = test::make_ids(4, kind, "user");
    expect_refused(model, interactions(fewer.clone(), model.items.clone()),
                   "the model knows 5 users, the interactions have 4");
    const auto more = test::make_ids(10, kind, "item");
    expect_refused(model, interactions(model.users.clone(), more.clone()), "number 10: nothing in");
  }
  const Model model = make_model({3, 3, 1, Ids::kRange, false});
  const std::array<std::string, 3> same{"0", "1", "2"};
  require_same_ids(model, interactions(IdMap::from_text(same), model.items.clone()));
  const std::array<std::string, 3> other{"0", "1", "x"};
  expect_refused(model, interactions(model.users.clone(), IdMap::from_text(other)),
                 "number 3: '2' in the model, 'x' in the interactions");
}

}  // namespace
}  // namespace likewise
