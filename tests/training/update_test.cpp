// SPDX-License-Identifier: Apache-2.0
/// Models that grow: what is touched is what the formulas say, what is not keeps its bits.
#include "likewise/update.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/sgd/setup.h"
#include "backends/jobs/device_jobs.h"
#include "core/random.h"
#include "likewise/als.h"
#include "likewise/bias.h"
#include "likewise/device.h"
#include "likewise/error.h"
#include "likewise/matrix.h"
#include "likewise/popular.h"
#include "likewise/recommender.h"
#include "tests/backends/device_test.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/learned.h"
#include "tests/support.h"
#include "tests/training/parts.h"
#include "training/train.h"

namespace likewise {
namespace {

using test::Entry;
using test::factors_of;
using test::part_of;
using test::shuffled_entries;
using testing::HasSubstr;

/// A kind of model with factors, and how it is updated.
struct Kind {
  const char* name;
  TrainingParams params;
  UpdateOptions options;
};

std::vector<Kind> kinds() {
  AlsParams implicit{.factors = 6, .iterations = 3};
  AlsParams ials = implicit;
  ials.unobserved_weight = 0.2;
  ials.regularization_exponent = 1.0;
  ials.solver = AlsSolverKind::kCg;
  AlsParams ratings = AlsParams::defaults(Feedback::kExplicit);
  ratings.factors = 6;
  ratings.iterations = 3;
  AlsParams unbiased = ratings;
  unbiased.biases = false;
  SgdParams sgd{.factors = 6, .iterations = 5};
  SgdParams alternating = sgd;
  alternating.order = SgdOrder::kAlternating;
  SgdParams inverse = sgd;
  inverse.schedule = SgdSchedule::kInverse;
  inverse.biases = false;
  SgdParams logistic = sgd;
  logistic.loss = SgdLoss::kLogistic;
  BprParams bpr{.factors = 6, .iterations = 5};
  BprParams popular = bpr;
  popular.negatives = BprNegatives::kPopular;
  popular.biases = false;
  const UpdateOptions by_sgd{.by = UpdateBy::kSgd};
  return {{"als", implicit, {}},
          {"ials", ials, {}},
          {"als, explicit", ratings, {}},
          {"als, no biases", unbiased, {}},
          {"als by sgd", ratings, by_sgd},
          {"als by sgd, no biases", unbiased, by_sgd},
          {"sgd", sgd, {}},
          {"sgd, alternating", alternating, {}},
          {"sgd, inverse", inverse, {}},
          {"sgd, logistic", logistic, {}},
          {"bpr", bpr, {}},
          {"bpr, popular", popular, {}}};
}

/// Values 1 to 5 become -2 to 2 where a loss tells likes from dislikes.
std::vector<Entry> entries_for(const Kind& kind, std::vector<Entry> all) {
  const auto* sgd = std::get_if<SgdParams>(&kind.params);
  if (sgd == nullptr || sgd->loss != SgdLoss::kLogistic) return all;
  for (Entry& entry : all) entry.value -= 3.0F;
  return all;
}

bool same_row(const Factors& a, Index row_a, const Factors& b, Index row_b, Side side) {
  const auto same = [&](const Array<float>& x, const Array<float>& y) {
    return x.empty() == y.empty() &&
           (x.empty() || std::memcmp(&x[row_a], &y[row_b], sizeof(float)) == 0);
  };
  return std::memcmp(a.side(side).row(row_a), b.side(side).row(row_b),
                     sizeof(float) * static_cast<std::size_t>(a.side(side).stride())) == 0 &&
         same(a.bias(side), b.bias(side)) && same(a.squares(side), b.squares(side));
}

void expect_same(const Factors& a, const Factors& b) {
  EXPECT_EQ(a.global_mean, b.global_mean);
  for (const Side side : {Side::kUsers, Side::kItems}) {
    ASSERT_EQ(a.side(side).rows(), b.side(side).rows());
    for (Index row = 0; row < a.side(side).rows(); ++row) {
      ASSERT_TRUE(same_row(a, row, b, row, side)) << side_name(side) << " " << row;
    }
  }
}

double largest_difference(const Matrix& a, const Matrix& b) {
  double most = 0.0;
  for (Index row = 0; row < a.rows(); ++row) {
    for (Index j = 0; j < a.cols(); ++j) {
      most = std::max(most, std::abs(double{a.row(row)[j]} - double{b.row(row)[j]}));
    }
  }
  return most;
}

/// 12 new interactions, of which some are of a new user or a new item.
struct Grown {
  Model old;
  Interactions more;
  UpdatedModel updated;
};
Grown grow_by_few(const Kind& kind, const char* device = "cpu") {
  std::vector<Entry> all = entries_for(kind, shuffled_entries(90, 70, 9.0));
  const std::size_t before = all.size() - 8;
  all.push_back({200, all[0].col, all[0].value});
  all.push_back({200, 300, all[1].value});
  all.push_back({all[2].row, 300, all[2].value});
  all.push_back({all[0].row, all[0].col, all[3].value});  // again
  const Device cpu = open_device("cpu");
  Grown grown{
      train(part_of(all, 0, before), kind.params, cpu), part_of(all, before, all.size()), {}};
  grown.updated = update_model(grown.old, grown.more, kind.options, open_device(device));
  return grown;
}

TEST(Update, WhatIsNotTouchedKeepsItsBits) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    const Grown grown = grow_by_few(kind);
    const Model& now = grown.updated.model;
    now.validate();
    EXPECT_EQ(now.users.size(), grown.old.users.size() + 1);
    EXPECT_EQ(now.items.size(), grown.old.items.size() + 1);
    EXPECT_EQ(now.history.nnz(), grown.old.history.nnz() + 11);
    EXPECT_EQ(grown.updated.repeated, 1);
    EXPECT_EQ(grown.updated.users, grown.more.users.size());
    EXPECT_EQ(grown.updated.items, grown.more.items.size());
    EXPECT_EQ(factors_of(now).global_mean, factors_of(grown.old).global_mean);
    for (const Side side : {Side::kUsers, Side::kItems}) {
      const IdMap& ids = side == Side::kUsers ? grown.old.users : grown.old.items;
      const IdMap& all = side == Side::kUsers ? now.users : now.items;
      const IdMap& touched = side == Side::kUsers ? grown.more.users : grown.more.items;
      for (Index row = 0; row < ids.size(); ++row) {
        const bool same =
            same_row(factors_of(grown.old), row, factors_of(now), *all.find(ids.name(row)), side);
        EXPECT_EQ(same, !touched.find(ids.name(row))) << side_name(side) << " " << ids.name(row);
      }
      const Index added = *all.find(side == Side::kUsers ? "200" : "300");
      EXPECT_NE(factors_of(now).side(side).row(added)[0], 0.0F);
    }
  }
}

/// Text beside integers: these stay in front, by value, so equal scores keep their order.
TEST(Update, IdsKeepTheirOrderBesideText) {
  const Device cpu = open_device("cpu");
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    const std::vector<Entry> all = entries_for(kind, shuffled_entries(40, 30, 8.0));
    const Model old = train(part_of(all, 0, all.size()), kind.params, cpu);
    Interactions more{IdMap::from_text(std::vector<std::string>{"11", "new", "2"}),
                      IdMap::from_text(std::vector<std::string>{"3", "a thing", "20"}),
                      {},
                      {}};
    more.by_user = test::make_csr(
        3, 3, std::vector<Entry>{{0, 0, 1.0F}, {0, 2, 5.0F}, {1, 1, 2.0F}, {2, 0, 4.0F}});
    const UpdatedModel updated = update_model(old, more, kind.options, cpu);
    const Model& now = updated.model;
    now.validate();
    EXPECT_EQ(now.users.size(), old.users.size() + 1);
    for (Index row = 0; row < old.users.size(); ++row) {
      EXPECT_EQ(now.users.name(row), old.users.name(row));
      EXPECT_EQ(now.users.find(old.users.name(row)), row);
    }
    EXPECT_EQ(now.items.name(now.items.size() - 1), "a thing");
    const test::TemporaryFolder folder;
    save_model(now, folder / "m");
    const Model back = load_model(folder / "m");
    for (Index item = 0; item < now.items.size(); ++item) {
      EXPECT_EQ(back.items.name(item), now.items.name(item));
      EXPECT_EQ(back.items.find(now.items.name(item)), item);
    }
    EXPECT_FALSE(back.items.find("31"));
    EXPECT_FALSE(back.items.find("a"));
    for (const Side side : {Side::kUsers, Side::kItems}) {
      const IdMap& ids = side == Side::kUsers ? old.users : old.items;
      const IdMap& united = side == Side::kUsers ? now.users : now.items;
      const IdMap& touched = side == Side::kUsers ? more.users : more.items;
      for (Index row = 0; row < ids.size(); ++row) {
        const Index to = *united.find(ids.name(row));
        EXPECT_EQ(same_row(factors_of(old), row, factors_of(now), to, side),
                  !touched.find(ids.name(row)))
            << side_name(side) << " " << ids.name(row);
        if (side == Side::kItems || touched.find(ids.name(row))) continue;
        EXPECT_EQ(now.history.view().row_size(to), old.history.view().row_size(row));
        for (const Index item : old.history.view().row_columns(row)) {
          const auto columns = now.history.view().row_columns(to);
          EXPECT_TRUE(std::ranges::binary_search(columns, *now.items.find(old.items.name(item))));
        }
      }
    }
  }
}

/// The model's kind of ids is kept where it can be.
TEST(Update, IntegersAndTextThatSpellsThemAreOne) {
  const Device cpu = open_device("cpu");
  const Kind kind = kinds().front();
  const Offset offsets[] = {0, 1, 3, 5};
  const auto text = [&] {
    return IdMap::from_sorted_text(Array<char>::copy_of(std::string("91011")),
                                   Array<Offset>::copy_of(std::vector(offsets, offsets + 4)));
  };
  const auto whole = [] {
    return IdMap::from_sorted_integers(
        Array<std::int64_t>::copy_of(std::vector<std::int64_t>{7, 10, 11}));
  };
  const auto data = [](const auto& ids) {
    return Interactions{
        ids(),
        ids(),
        test::make_csr(3, 3, std::vector<Entry>{{0, 0, 1.0F}, {1, 2, 2.0F}, {2, 1, 2.0F}}),
        {}};
  };
  const Model of_whole =
      update_model(train(data(whole), kind.params, cpu), data(text), kind.options, cpu).model;
  const Model of_text =
      update_model(train(data(text), kind.params, cpu), data(whole), kind.options, cpu).model;
  EXPECT_TRUE(of_whole.users.is_integer());
  EXPECT_FALSE(of_text.users.is_integer());
  for (const Model* model : {&of_whole, &of_text}) {
    ASSERT_EQ(model->users.size(), 4);
    for (Index i = 0; i < 4; ++i) {
      EXPECT_EQ(model->users.name(i), (std::array{"7", "9", "10", "11"}[i]));
    }
  }
}

TEST(Update, AModelOfNothingGrows) {
  const Device cpu = open_device("cpu");
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    const auto* sgd = std::get_if<SgdParams>(&kind.params);
    if (std::holds_alternative<BprParams>(kind.params)) continue;  // cannot be trained on nothing
    if (sgd != nullptr && sgd->loss == SgdLoss::kLogistic) continue;
    const std::vector<Entry> all = shuffled_entries(20, 15, 6.0);
    Interactions nothing{IdMap::range(0), IdMap::range(0), test::make_csr(0, 0, {}), {}};
    const Model old = train(nothing, kind.params, cpu);
    const Model now = update_model(old, part_of(all, 0, all.size()), kind.options, cpu).model;
    now.validate();
    EXPECT_EQ(now.history.nnz(), std::ssize(all));
  }
}

TEST(Update, IsTheSameForAnyNumberOfThreads) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    std::vector<Model> models;
    for (const int threads : {1, 2, 7}) {
      with_threads(threads, [&] { models.push_back(std::move(grow_by_few(kind).updated.model)); });
    }
    expect_same(factors_of(models[0]), factors_of(models[1]));
    expect_same(factors_of(models[0]), factors_of(models[2]));
  }
}

TEST(Update, TheReferenceDoesTheSameInDoublePrecision) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    const Grown fast = grow_by_few(kind);
    const Grown plain = grow_by_few(kind, "reference");
    // Conjugate gradients leave a part undone; all others round in float32.
    const double tolerance = std::string(kind.name) == "ials" ? 2e-2 : 2e-4;
    for (const Side side : {Side::kUsers, Side::kItems}) {
      EXPECT_LT(largest_difference(factors_of(fast.updated.model).side(side),
                                   factors_of(plain.updated.model).side(side)),
                tolerance);
    }
  }
}

/// ALS on every device, in float32: its own rows alone change, to what the reference says.
class UpdateOnDevice : public test::DeviceTest<Feedback> {};

TEST_P(UpdateOnDevice, RefinesAsTheReference) {
  AlsParams params = AlsParams::defaults(GetParam());
  params.factors = 12;
  params.iterations = 3;
  params.solver = AlsSolverKind::kCholesky;
  params.precision = Precision::kFp32;
  const std::vector<Entry> all = shuffled_entries(300, 200, 15.0);
  const std::size_t before = all.size() - 60;
  const Model old = train(part_of(all, 0, before), params, open_device("cpu"));
  const Interactions more = part_of(all, before, all.size());
  const Model now = update_model(old, more, {}, device()).model;
  const Model plain = update_model(old, more, {}, open_device("reference")).model;
  for (const Side side : {Side::kUsers, Side::kItems}) {
    const IdMap& ids = side == Side::kUsers ? now.users : now.items;
    const IdMap& touched = side == Side::kUsers ? more.users : more.items;
    for (Index row = 0; row < ids.size(); ++row) {
      if (touched.find(ids.name(row))) continue;
      EXPECT_TRUE(same_row(factors_of(now), row, factors_of(plain), row, side)) << row;
    }
    // float32 sums of some hundred terms
    EXPECT_LT(largest_difference(factors_of(now).side(side), factors_of(plain).side(side)), 1e-3);
  }
}

constexpr Feedback kFeedbacks[] = {Feedback::kImplicit, Feedback::kExplicit};
INSTANTIATE_TEST_SUITE_P(Cpu, UpdateOnDevice, testing::ValuesIn(kFeedbacks));
INSTANTIATE_TEST_SUITE_P(Cuda, UpdateOnDevice, testing::ValuesIn(kFeedbacks));

/// The side that was solved last is at the minimum of the whole objective: half an iteration over
/// all the merged data, in double precision, leaves its touched rows where they are.
TEST(Update, AlsLeavesTouchedItemsAtTheirMinimum) {
  for (const Kind& kind : kinds()) {
    const auto* als = std::get_if<AlsParams>(&kind.params);
    if (als == nullptr || kind.options.by) continue;
    SCOPED_TRACE(kind.name);
    Kind exact = kind;
    std::get<AlsParams>(exact.params).solver = AlsSolverKind::kCholesky;
    const Grown grown = grow_by_few(exact);
    const Model& now = grown.updated.model;
    const auto solver = job<AlsJob>(open_device("reference"))
                            .make_solver(now.history.view(), std::get<AlsParams>(exact.params),
                                         factors_of(now).clone());
    solver->solve(Side::kItems, {});
    for (Index item = 0; item < grown.more.items.size(); ++item) {
      const Index row = *now.items.find(grown.more.items.name(item));
      for (Index j = 0; j < als->factors; ++j) {
        EXPECT_NEAR(factors_of(now).items.row(row)[j], solver->factors().items.row(row)[j], 1e-4);
      }
      if (als->feedback == Feedback::kExplicit && als->biases) {
        EXPECT_NEAR(factors_of(now).item_bias[row], solver->factors().item_bias[row], 1e-4);
      }
    }
  }
}

/// Where everything is touched, a round is an iteration of training.
TEST(Update, ARoundOverEverythingIsAnIteration) {
  const Device cpu = open_device("cpu");
  const std::vector<Entry> all = shuffled_entries(60, 40, 12.0);
  for (const Kind& kind : kinds()) {
    const auto* als = std::get_if<AlsParams>(&kind.params);
    if (als == nullptr || kind.options.by) continue;
    SCOPED_TRACE(kind.name);
    const Interactions data = part_of(all, 0, all.size());
    const Model old = train(data, *als, cpu);
    const UpdatedModel updated = update_model(old, data, {.iterations = 1}, cpu);
    EXPECT_EQ(updated.repeated, data.by_user.nnz());
    AlsParams longer = *als;
    ++longer.iterations;
    const Model on = train(data, longer, cpu, {.resume = &old});
    expect_same(factors_of(updated.model), factors_of(on));
  }
}

/// Ann and bob rated x and y; what comes is that bob rates z, which cat rated.
struct OneRating {
  Interactions data;
  Interactions more;
  Index user = 1;
  Index item = 2;
};
Interactions named_cells(const std::vector<std::string>& users,
                         const std::vector<std::string>& items, std::vector<Entry> entries) {
  Interactions made{IdMap::from_text(users), IdMap::from_text(items), {}, {}};
  made.by_user = test::make_csr(made.users.size(), made.items.size(), std::move(entries));
  return made;
}
OneRating one_rating() {
  return {named_cells(
              {"ann", "bob", "cat"}, {"x", "y", "z"},
              {{0, 0, 1.0F}, {0, 1, 5.0F}, {1, 0, 2.0F}, {1, 1, 4.0F}, {2, 2, 5.0F}, {2, 0, 3.0F}}),
          named_cells({"bob"}, {"z"}, {{0, 0, 1.0F}})};
}
/// With another, of a user and an item who are new and come before those.
OneRating one_rating_among_new() {
  OneRating one = one_rating();
  one.more = named_cells({"abe", "bob"}, {"w", "z"}, {{0, 0, 4.0F}, {1, 1, 1.0F}});
  one.user = 2;
  one.item = 3;
  return one;
}

/// A step of SGD with the counts of the merged data, bob has 3 ratings and z has 2, and the spread
/// of the data that was trained on. It is no longer than to the rating.
struct Stepped {
  std::vector<double> x;
  std::vector<double> y;
  double user_bias = 0.0;
  double item_bias = 0.0;
};
Stepped step_by_hand(const Factors& f, const OneRating& one, const SgdParams& params, double rate,
                     double user_squares, double item_squares, double spread) {
  const auto x = f.users.row_span(one.user);
  const auto y = f.items.row_span(one.item);
  double score = f.global_mean;
  if (params.biases) score += double{f.user_bias[one.user]} + double{f.item_bias[one.item]};
  for (std::size_t j = 0; j < x.size(); ++j) score += double{x[j]} * double{y[j]};
  const double error = 1.0 - score;
  double user_step = rate / std::sqrt(1.0 + user_squares);
  double item_step = rate / std::sqrt(1.0 + item_squares);
  const double nu = params.regularization_exponent - 1.0;
  const double user_decay = params.regularization * std::pow(3.0, nu);
  const double item_decay = params.regularization * std::pow(2.0, nu);
  double xx = 0.0;
  double yy = 0.0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    xx += double{x[j]} * double{x[j]};
    yy += double{y[j]} * double{y[j]};
  }
  const double of_biases = params.biases ? 1.0 : 0.0;
  const double reach = user_step * ((yy + user_decay) / spread + of_biases * (1.0 + user_decay)) +
                       item_step * ((xx + item_decay) / spread + of_biases * (1.0 + item_decay));
  user_step /= std::max(1.0, reach);
  item_step /= std::max(1.0, reach);
  Stepped to;
  for (std::size_t j = 0; j < x.size(); ++j) {
    to.x.push_back(x[j] + user_step / spread * (error * y[j] - user_decay * x[j]));
    to.y.push_back(y[j] + item_step / spread * (error * x[j] - item_decay * y[j]));
  }
  if (!params.biases) return to;
  to.user_bias = f.user_bias[one.user] + user_step * (error - user_decay * f.user_bias[one.user]);
  to.item_bias = f.item_bias[one.item] + item_step * (error - item_decay * f.item_bias[one.item]);
  return to;
}

void expect_at(const Factors& now, const OneRating& one, const Stepped& to) {
  for (std::size_t j = 0; j < to.x.size(); ++j) {
    EXPECT_NEAR(now.users.row(one.user)[j], to.x[j], 1e-6);
    EXPECT_NEAR(now.items.row(one.item)[j], to.y[j], 1e-6);
  }
  if (now.user_bias.empty()) return;
  EXPECT_NEAR(now.user_bias[one.user], to.user_bias, 1e-6);
  EXPECT_NEAR(now.item_bias[one.item], to.item_bias, 1e-6);
}

/// Of the seven values of the merged data.
double trained_spread() {
  const std::array<double, 6> values{1, 5, 2, 4, 5, 3};
  double mean = 0.0;
  for (const double value : values) mean += value / 6.0;
  double variance = 0.0;
  for (const double value : values) variance += (value - mean) * (value - mean) / 6.0;
  return std::sqrt(variance);
}

TEST(Update, AStepOfSgdByHand) {
  const Device cpu = open_device("cpu");
  const OneRating one = one_rating();
  SgdParams params{.factors = 3, .iterations = 4};
  params.init_stddev = 1.0;
  for (const bool adaptive : {true, false}) {
    params.schedule = adaptive ? SgdSchedule::kAdaptive : SgdSchedule::kInverse;
    const Model old = train(one.data, params, cpu);
    const Factors& f = factors_of(old);
    const double rate = adaptive ? 0.02 : 0.02 / (1.0 + 0.1 * 4.0);  // four epochs are done
    const Stepped to = step_by_hand(f, one, params, rate, adaptive ? f.user_squares[1] : 0.0,
                                    adaptive ? f.item_squares[2] : 0.0, trained_spread());
    expect_at(factors_of(update_model(old, one.more, {.iterations = 1}, cpu).model), one, to);
    const Stepped faster = step_by_hand(f, one, params, 0.3, adaptive ? f.user_squares[1] : 0.0,
                                        adaptive ? f.item_squares[2] : 0.0, trained_spread());
    const UpdateOptions asked{.iterations = 1, .learning_rate = 0.3};
    expect_at(factors_of(update_model(old, one.more, asked, cpu).model), one, faster);
  }
}

/// A value that is a million spreads away moves what it touches, and leaves a model that can be
/// kept.
TEST(Update, StepsOfSgdFollowAValueFarAway) {
  const Device cpu = open_device("cpu");
  std::vector<Entry> all;
  for (Index cell = 0; cell < 64; ++cell) all.push_back({cell / 8, cell % 8, 3.0F});
  all.push_back({100, 7, 3e6F});
  const Interactions far = part_of(all, 64, 65);
  for (const SgdOrder order : {SgdOrder::kBlocked, SgdOrder::kAlternating}) {
    SgdParams params{.factors = 3};
    params.order = order;
    const Model old = train(part_of(all, 0, 64), params, cpu);
    const Model now = update_model(old, far, {}, cpu).model;
    EXPECT_NO_THROW(now.validate());
    const Factors& f = factors_of(now);
    const auto prediction = [&](Index user, Index item) {
      double score = f.global_mean + f.user_bias[user] + f.item_bias[item];
      for (Index j = 0; j < 3; ++j) score += f.users.row(user)[j] * f.items.row(item)[j];
      return score;
    };
    EXPECT_NEAR(prediction(*now.users.find("100"), *now.items.find("7")), 3e6, 3e5);
    EXPECT_NEAR(prediction(0, 0), 3.0, 0.01);
  }
}

/// What the model's own ratings of a row would have added in 40 epochs from these factors.
double squares_by_hand(const Factors& f, Side side, Index row, const CsrView& rows, double decay,
                       double spread) {
  const auto x = f.side(side).row_span(row);
  double squares = 0.0;
  for (Offset e = rows.offsets[row]; e < rows.offsets[row + 1]; ++e) {
    const auto y = f.side(other(side)).row_span(rows.columns[e]);
    double score = double{f.global_mean} + double{f.bias(side)[row]} +
                   double{f.bias(other(side))[rows.columns[e]]};
    for (std::size_t j = 0; j < x.size(); ++j) score += double{x[j]} * double{y[j]};
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double gradient = (rows.values[e] - score) * y[j] - decay * x[j];
      squares += gradient * gradient / (spread * spread * spread * static_cast<double>(x.size()));
    }
  }
  return 40.0 * squares;
}

TEST(Update, AStepOfSgdAfterAlsByHand) {
  const Device cpu = open_device("cpu");
  const OneRating one = one_rating();
  AlsParams als = AlsParams::defaults(Feedback::kExplicit);
  als.factors = 3;
  als.regularization = 0.3;
  als.regularization_exponent = 0.5;
  const Model old = train(one.data, als, cpu);
  const Factors& f = factors_of(old);
  SgdParams params{.factors = 3};
  params.regularization = 0.3;
  const double spread = trained_spread();
  const CsrMatrix by_item = transpose(old.history.view());
  const double user_squares =
      squares_by_hand(f, Side::kUsers, 1, old.history.view(), 0.3 / std::sqrt(3.0), spread);
  const double item_squares =
      squares_by_hand(f, Side::kItems, 2, by_item.view(), 0.3 / std::sqrt(2.0), spread);
  const UpdateOptions by_sgd{.by = UpdateBy::kSgd, .iterations = 1};
  const UpdatedModel updated = update_model(old, one.more, by_sgd, cpu);
  const Stepped to = step_by_hand(f, one, params, 0.05, user_squares, item_squares, spread);
  expect_at(factors_of(updated.model), one, to);
  const OneRating among_new = one_rating_among_new();
  expect_at(factors_of(update_model(old, among_new.more, by_sgd, cpu).model), among_new, to);
  EXPECT_EQ(updated.model.algorithm(), "als");
  EXPECT_TRUE(factors_of(updated.model).user_squares.empty());
  updated.model.validate();
}

/// One user likes all of six items but the last; the new like is the fifth, so that the last is the
/// only negative, in every epoch and of every seed, and it stays as it is.
TEST(Update, StepsOfBprByHand) {
  const std::vector<Entry> likes{{0, 0, 1.0F}, {0, 1, 1.0F}, {0, 2, 1.0F}, {0, 3, 1.0F},
                                 {1, 4, 1.0F}, {1, 5, 1.0F}, {1, 0, 1.0F}};
  const std::vector<Entry> later{{0, 4, 1.0F}};
  const Interactions more = part_of(later, 0, 1);
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const BprParams params{.factors = 3, .iterations = 3, .init_stddev = 1.0, .seed = seed};
    const Model old = train(part_of(likes, 0, likes.size()), params, open_device("cpu"));
    const Factors& f = factors_of(old);
    std::array<double, 3> x{};
    std::array<double, 3> i{};
    std::ranges::copy(f.users.row_span(0), x.begin());
    std::ranges::copy(f.items.row_span(4), i.begin());
    const auto j = f.items.row_span(5);
    double bias = f.item_bias[4];
    for (int epoch = 0; epoch < 2; ++epoch) {
      double margin = bias - double{f.item_bias[5]};
      for (std::size_t c = 0; c < 3; ++c) margin += x[c] * (i[c] - double{j[c]});
      const double wrong = 1.0 / (1.0 + std::exp(margin));
      for (std::size_t c = 0; c < 3; ++c) {
        const double before = x[c];
        x[c] += 0.2 * (wrong * (i[c] - j[c]) - 0.01 * x[c]);
        i[c] += 0.2 * (wrong * before - 0.01 * i[c]);
      }
      bias += 0.2 * (wrong - 0.01 * bias);
    }
    const UpdateOptions options{.iterations = 2, .learning_rate = 0.2};
    for (const char* device : {"cpu", "reference"}) {
      const Model now = update_model(old, more, options, open_device(device)).model;
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_NEAR(factors_of(now).users.row(0)[c], x[c], 1e-6);
        EXPECT_NEAR(factors_of(now).items.row(4)[c], i[c], 1e-6);
      }
      EXPECT_NEAR(factors_of(now).item_bias[4], bias, 1e-6);
      EXPECT_TRUE(same_row(f, 5, factors_of(now), 5, Side::kItems));
    }
  }
}

TEST(Update, WhatIsNoLikeTeachesBprNothing) {
  const Device cpu = open_device("cpu");
  const std::vector<Entry> all = shuffled_entries(40, 30, 6.0);
  const Model old = train(part_of(all, 0, all.size()), BprParams{.factors = 4}, cpu);
  Interactions dislikes = part_of(all, 0, 5);
  for (float& value : dislikes.by_user.values) value = -1.0F;
  const UpdatedModel updated = update_model(old, dislikes, {}, cpu);
  expect_same(factors_of(old), factors_of(updated.model));
  EXPECT_EQ(updated.repeated, 5);
}

/// Ratings of a model of rank 2, some of users and items that come later.
struct Taste {
  std::vector<Entry> all;
  std::vector<Entry> test;
};
Taste taste() {
  CounterRandom random(5, kStreamSynthetic, 0);
  const auto numbers = [&](int rows) {
    std::vector<std::array<double, 2>> drawn;
    for (int row = 0; row < rows; ++row) drawn.push_back({random.normal(), random.normal()});
    return drawn;
  };
  const auto users = numbers(220);
  const auto items = numbers(90);
  Taste made;
  for (Index u = 0; u < 220; ++u) {
    for (Index i = 0; i < 90; ++i) {
      const double chance = random.uniform();
      if (chance > 0.3) continue;
      const auto& x = users[static_cast<std::size_t>(u)];
      const auto& y = items[static_cast<std::size_t>(i)];
      const double value = 3.0 + 0.8 * (x[0] * y[0] + x[1] * y[1]) + 0.3 * random.normal();
      (chance < 0.05 ? made.test : made.all).push_back({u, i, static_cast<float>(value)});
    }
  }
  return made;
}

double rmse_of(Model model, const std::vector<Entry>& test) {
  const auto shared = std::make_shared<Model>(std::move(model));
  const Recommender recommender(shared, open_device("cpu"));
  std::vector<Index> users;
  std::vector<Index> items;
  for (const Entry& entry : test) {
    users.push_back(shared->users.find(std::int64_t{entry.row}).value_or(-1));
    items.push_back(shared->items.find(std::int64_t{entry.col}).value_or(-1));
  }
  const std::vector<float> found = recommender.predict(users, items);
  double sum = 0.0;
  for (std::size_t e = 0; e < test.size(); ++e) {
    sum += std::pow(test[e].value - found[e], 2.0);
  }
  return std::sqrt(sum / static_cast<double>(test.size()));
}

TEST(Update, PredictsBetterThanTheModelBefore) {
  const Device cpu = open_device("cpu");
  Taste made = taste();
  std::stable_partition(made.all.begin(), made.all.end(),
                        [](const Entry& e) { return e.row < 180 && e.col < 80; });
  const auto before = static_cast<std::size_t>(
      std::ranges::count_if(made.all, [](const Entry& e) { return e.row < 180 && e.col < 80; }));
  AlsParams als = AlsParams::defaults(Feedback::kExplicit);
  als.factors = 8;
  SgdParams sgd{.factors = 8, .regularization = 0.5};
  const std::vector<Kind> all{
      {"als", als, {}}, {"als by sgd", als, {.by = UpdateBy::kSgd}}, {"sgd", sgd, {}}};
  for (const Kind& kind : all) {
    SCOPED_TRACE(kind.name);
    Model old = train(part_of(made.all, 0, before), kind.params, cpu);
    Model now =
        update_model(old, part_of(made.all, before, made.all.size()), kind.options, cpu).model;
    EXPECT_LT(rmse_of(std::move(now), made.test), 0.93 * rmse_of(std::move(old), made.test));
  }
}

TEST(Update, ThoseThatCountAreAsTrainedOnAll) {
  const Device cpu = open_device("cpu");
  const std::vector<Entry> all = shuffled_entries(50, 40, 6.0);
  const std::size_t before = all.size() - 20;
  for (const TrainingParams& params :
       {TrainingParams(PopularParams{}), TrainingParams(BiasParams{})}) {
    const Model old = train(part_of(all, 0, before), params, cpu);
    const UpdatedModel updated = update_model(old, part_of(all, before, all.size()), {}, cpu);
    const Model anew = train(part_of(all, 0, all.size()), params, cpu);
    EXPECT_EQ(updated.items, anew.items.size());
    updated.model.validate();
    if (const Biases* b = anew.biases()) {
      EXPECT_TRUE(std::ranges::equal(updated.model.biases()->users, b->users));
      EXPECT_TRUE(std::ranges::equal(updated.model.biases()->items, b->items));
      EXPECT_EQ(updated.model.biases()->mean, b->mean);
    } else {
      EXPECT_TRUE(std::ranges::equal(std::get<Popularity>(updated.model.learned).shares,
                                     std::get<Popularity>(anew.learned).shares));
    }
  }
}

TEST(Update, SaysWhatWasAddedAndCanGoOn) {
  const Device cpu = open_device("cpu");
  const std::vector<Entry> all = shuffled_entries(60, 40, 8.0);
  const std::size_t half = all.size() - 30;
  const AlsParams params{.factors = 4, .iterations = 3};
  const Interactions data = part_of(all, 0, half);
  const Interactions held_out = part_of(all, half, all.size());
  ResolvedRun run;
  run.validation = &held_out;
  run.validation_metric = "ndcg@5";
  run.source = "a.csv";
  const Model old = train(data, params, cpu, run);
  const Model once =
      update_model(old, part_of(all, half, half + 10), {.source = "b.csv"}, cpu).model;
  const Model twice = update_model(once, part_of(all, half + 10, all.size()),
                                   {.iterations = 4, .source = "c.csv"}, cpu)
                          .model;
  twice.validate();
  EXPECT_EQ(twice.history.nnz(), std::ssize(all));
  EXPECT_EQ(twice.provenance.source, "a.csv");
  EXPECT_EQ(twice.provenance.created, old.provenance.created);
  ASSERT_EQ(twice.provenance.updates.size(), 2U);
  EXPECT_EQ(twice.provenance.updates[0].source, "b.csv");
  EXPECT_EQ(twice.provenance.updates[0].interactions, 10);
  EXPECT_EQ(twice.provenance.updates[0].iterations, usual_update_iterations(old, {}));
  EXPECT_EQ(twice.provenance.updates[1].iterations, 4);
  EXPECT_EQ(twice.provenance.updates[1].by, "");
  // The reports are those of the training, but nothing was measured on these factors.
  EXPECT_EQ(twice.iterations.size(), old.iterations.size());
  EXPECT_EQ(twice.best_iteration, old.best_iteration);
  EXPECT_EQ(twice.stop_reason, old.stop_reason);
  EXPECT_EQ(twice.validation_metric, "");
  EXPECT_FALSE(twice.iterations.front().validation.has_value());
  AlsParams longer = params;
  longer.iterations = 5;
  const Interactions merged = part_of(all, 0, all.size());
  const Model on = train(merged, longer, cpu, {.resume = &twice});
  EXPECT_EQ(on.iterations.back().iteration, 5);
}

/// A file has integers among text, in the order of bytes; an updated model has them before it.
TEST(Update, CanGoOnWithIdsInTheOrderOfAFile) {
  const Device cpu = open_device("cpu");
  const std::vector<Entry> all = shuffled_entries(40, 30, 8.0);
  AlsParams params{.factors = 4, .iterations = 3};
  const Model old = train(part_of(all, 0, all.size()), params, cpu);
  Interactions more{IdMap::from_text(std::vector<std::string>{"11", "new"}),
                    IdMap::from_text(std::vector<std::string>{"3", "a thing"}),
                    {},
                    {}};
  more.by_user = test::make_csr(2, 2, std::vector<Entry>{{0, 1, 1.0F}, {1, 0, 5.0F}});
  const Model now = update_model(old, more, {}, cpu).model;
  std::vector<std::string> users;
  std::vector<std::string> items;
  for (Index u = 0; u < now.users.size(); ++u) users.push_back(now.users.name(u));
  for (Index i = 0; i < now.items.size(); ++i) items.push_back(now.items.name(i));
  Interactions file{IdMap::from_text(users), IdMap::from_text(items), {}, {}};
  std::vector<Entry> cells;
  for (Index u = 0; u < now.users.size(); ++u) {
    const auto row = now.history.view().row_columns(u);
    for (std::size_t e = 0; e < row.size(); ++e) {
      cells.push_back({*file.users.find(now.users.name(u)),
                       *file.items.find(now.items.name(row[e])),
                       now.history.view().row_values(u)[e]});
    }
  }
  std::ranges::sort(cells, {}, [](const Entry& e) { return std::pair(e.row, e.col); });
  file.by_user = test::make_csr(file.users.size(), file.items.size(), cells);
  EXPECT_NE(file.users.name(2), now.users.name(2));
  params.iterations = 5;
  const Model on = train(file, params, cpu, {.resume = &now});
  EXPECT_EQ(on.iterations.back().iteration, 5);
  EXPECT_EQ(on.users.name(2), now.users.name(2));
  EXPECT_TRUE(std::ranges::equal(on.history.columns, now.history.columns));
}

TEST(Update, RefusesWhatItCannotDo) {
  const Device cpu = open_device("cpu");
  const std::vector<Entry> all = shuffled_entries(40, 30, 6.0);
  const Interactions data = part_of(all, 0, all.size());
  const AlsParams small{.factors = 2, .iterations = 2};
  Model als = train(data, small, cpu);
  const Model knn = train(data, KnnParams{}, cpu);
  const Model sgd = train(data, SgdParams{.factors = 2, .iterations = 2}, cpu);
  const auto refused = [&](const Model& model, const UpdateOptions& options,
                           ErrorKind kind = ErrorKind::kInvalidArgument) {
    return test::error_of(kind, [&] { (void)update_model(model, data, options, cpu); });
  };
  EXPECT_THAT(refused(als, {.duplicates = Duplicates::kAuto}),
              HasSubstr("newest, sum, max, first, last, count or error"));
  EXPECT_THAT(refused(als, {.duplicates = Duplicates::kError}, ErrorKind::kBadData),
              HasSubstr("have a value already"));
  EXPECT_THAT(refused(als, {.by = UpdateBy::kSgd}), HasSubstr("explicit"));
  EXPECT_THAT(refused(als, {.iterations = 0}), HasSubstr("[1, 10000], not 0"));
  EXPECT_THAT(refused(als, {.learning_rate = 0.1}), HasSubstr("by sgd"));
  EXPECT_THAT(refused(sgd, {.learning_rate = 0.0}), HasSubstr("[1e-15, 1e+15]"));
  EXPECT_THAT(refused(sgd, {.learning_rate = std::nan("")}), HasSubstr("[1e-15, 1e+15]"));
  EXPECT_THAT(refused(sgd, {.by = UpdateBy::kAls}), HasSubstr("this one is of sgd"));
  EXPECT_THAT(refused(knn, {.iterations = 3}), HasSubstr("an update of item-knn is exact"));
  EXPECT_THAT(refused(knn, {.learning_rate = 0.1}), HasSubstr("would do nothing"));
  EXPECT_NO_THROW((void)update_model(sgd, data, {.learning_rate = 1e14}, cpu));  // it is bounded
  EXPECT_THAT(test::error_of(ErrorKind::kBadData,
                             [&] { (void)update_model(als, Interactions(), {}, cpu); }),
              HasSubstr("no new interactions"));
  Interactions huge = part_of(all, 0, 3);
  huge.by_user.values[0] = 3e38F;
  EXPECT_THAT(test::error_of(ErrorKind::kBadData, [&] { (void)update_model(als, huge, {}, cpu); }),
              HasSubstr("3e+38"));
  als.stop_reason.clear();
  EXPECT_THAT(refused(als, {}), HasSubstr("checkpoint"));
  als.stop_reason = "iterations";
  als.history = CsrMatrix();
  EXPECT_THAT(refused(als, {}), HasSubstr("without its interactions"));
}

TEST(Update, CanBeCancelled) {
  const Device cpu = open_device("cpu");
  const std::atomic<bool> cancel = true;
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    const std::vector<Entry> all = entries_for(kind, shuffled_entries(40, 30, 6.0));
    const Interactions data = part_of(all, 0, all.size());
    const Model old = train(data, kind.params, cpu);
    RunControl control;
    control.cancel = &cancel;
    (void)test::error_of(ErrorKind::kCancelled,
                         [&] { (void)update_model(old, data, kind.options, cpu, control); });
  }
}

}  // namespace
}  // namespace likewise
