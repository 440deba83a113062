// SPDX-License-Identifier: Apache-2.0
/// A matrix by ids has rows and columns without entries. What is decided, learned and answered is
/// what it is without them.
#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/parameters/rules.h"
#include "algorithms/row_counts.h"
#include "algorithms/rows_with_entries.h"
#include "likewise/bpr.h"
#include "likewise/recommender.h"
#include "likewise/synthetic.h"
#include "likewise/update.h"
#include "tests/csr_entries.h"
#include "training/choose.h"
#include "training/train.h"

namespace likewise {
namespace {

const Interactions& full() {
  static const Interactions data = generate(parse_shape("300x80x6000"), 1);
  return data;
}

/// Of sparse(): more than those of full() take up.
constexpr Index kUsers = 1200;
constexpr Index kItems = 400;

/// Where user and item `row` of full() are among those without entries.
[[nodiscard]] Index place(Index row) { return 3 * row + 2; }

[[nodiscard]] Interactions by_numbers(const CsrView& by_user, Index users, Index items) {
  std::vector<test::Entry> entries;
  for (Index user = 0; user < by_user.rows; ++user) {
    for (std::size_t e = 0; e < by_user.row_columns(user).size(); ++e) {
      entries.push_back(
          {place(user), place(by_user.row_columns(user)[e]), by_user.row_values(user)[e]});
    }
  }
  Interactions all;
  all.users = IdMap::range(users);
  all.items = IdMap::range(items);
  all.by_user = test::make_csr(users, items, entries);
  return all;
}

/// full() with two rows of no entries before each, and more at the end.
const Interactions& sparse() {
  static const Interactions data = by_numbers(full().by_user.view(), kUsers, kItems);
  return data;
}

/// Over a model that outlives it.
[[nodiscard]] Recommender recommender_of(const Model& model) {
  return {std::shared_ptr<const Model>(std::shared_ptr<const Model>(), &model), open_device("cpu")};
}

/// Of all pairs of full().
[[nodiscard]] std::vector<float> scores_of(const Model& model, bool placed) {
  std::vector<Index> users;
  std::vector<Index> items;
  for (Index user = 0; user < full().by_user.rows; ++user) {
    for (Index item = 0; item < full().by_user.cols; ++item) {
      users.push_back(placed ? place(user) : user);
      items.push_back(placed ? place(item) : item);
    }
  }
  return recommender_of(model).ranking_scores(users, items);
}

struct Case {
  std::string algorithm;
  const char* feedback;
  double tolerance;  ///< 0: the same bits
  std::vector<AskedParameter> also{};
};

/// What spectral multiplies first is drawn by the number of the item, and a dense inverse is cut
/// into blocks by it: their sums are others.
const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"als", "implicit", 0.0},
      {"als", "implicit", 0.0, {{"regularization_exponent", "0.5"}}},
      {"als", "implicit", 0.0, {{"alpha", "2"}, {"regularization_exponent", "1"}}},
      {"als", "explicit", 0.0},
      {"bpr", "implicit", 0.0},
      {"item-knn", "implicit", 0.0},
      {"item-knn", "implicit", 0.0, {{"similarity", "bm25"}}},
      {"item-knn", "implicit", 0.0, {{"similarity", "log-likelihood"}}},
      {"item-knn", "implicit", 0.0, {{"sum_lists", "reverse"}, {"sum_scale", "offset"}}},
      {"user-knn", "implicit", 0.0},
      {"item-knn", "explicit", 0.0},
      {"bias", "explicit", 0.0},
      {"ease", "implicit", 1e-4},
      {"ease", "implicit", 1e-4, {{"form", "local"}}},
      {"spectral", "implicit", 1e-2}};
  return all;
}

[[nodiscard]] TrainingPlan plan_of(const Case& one, const Interactions& data) {
  TrainingRequest request{.algorithm = one.algorithm, .parameters = one.also, .device = "cpu"};
  request.parameters.push_back({"feedback", one.feedback});
  return prepare(request, data);
}

TEST(RowsWithoutEntries, ChangeNothingThatIsDecided) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.algorithm);
    const TrainingPlan there = plan_of(one, sparse());
    const TrainingPlan here = plan_of(one, full());
    EXPECT_EQ(there.params, here.params);
    if (one.algorithm == "als" || one.algorithm == "bpr") {  // others hold a line for each row
      EXPECT_EQ(there.memory.total, here.memory.total);
      EXPECT_EQ(there.tuning, here.tuning);
    }
  }
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    const Device cpu = open_device("cpu");
    const AlgorithmChoice there = choose_algorithm(sparse().by_user.view(), feedback, cpu);
    const AlgorithmChoice here = choose_algorithm(full().by_user.view(), feedback, cpu);
    EXPECT_EQ(there.algorithm, here.algorithm);
    EXPECT_EQ(there.reason, here.reason);
  }
}

TEST(RowsWithoutEntries, ChangeNoScore) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.algorithm + " " + one.feedback);
    const std::vector<float> there = scores_of(train(plan_of(one, sparse()), sparse()), true);
    const std::vector<float> here = scores_of(train(plan_of(one, full()), full()), false);
    if (one.tolerance == 0.0) {
      EXPECT_EQ(there, here);
      continue;
    }
    const float largest = *std::ranges::max_element(here);
    EXPECT_THAT(there, testing::Pointwise(testing::FloatNear(largest * one.tolerance), here));
  }
}

TEST(RowsWithoutEntries, AreZeroInFactorsAndResumedFrom) {
  for (const char* algorithm : {"als", "bpr"}) {
    Case one{algorithm, "implicit", 0.0, {{"iterations", "2"}}};
    const Model begun = train(plan_of(one, sparse()), sparse());
    one.also = {{"iterations", "4"}};
    TrainingRequest request{.algorithm = algorithm, .parameters = one.also, .device = "cpu"};
    request.resume = &begun;
    const Model resumed = train(prepare(request, sparse()), sparse());
    const Model whole = train(plan_of(one, full()), full());
    EXPECT_EQ(scores_of(resumed, true), scores_of(whole, false)) << algorithm;
    for (Index item = 0; item < resumed.items.size(); ++item) {
      if (item % 3 == 2 && item < place(full().by_user.cols)) continue;
      EXPECT_THAT(resumed.factors()->items.row_span(item), testing::Each(0.0F));
    }
  }
}

TEST(RowsWithoutEntries, ChangeNoNewUser) {
  const FoldInRow row{{3, 17, 40}, {2.0F, 1.0F, 4.0F}};
  FoldInRow placed = row;
  for (Index& item : placed.columns) item = place(item);
  const Case one{"als", "implicit", 0.0};
  Model there = train(plan_of(one, sparse()), sparse());
  const Model here = train(plan_of(one, full()), full());
  const auto factors_of_row = [&](const Model& model, const FoldInRow& of) {
    const FoldedIn found = recommender_of(model).fold_in(Side::kUsers, std::vector{of});
    const auto x = found.factors.row_span(0);
    return std::vector<float>(x.begin(), x.end());
  };
  const std::vector<float> wanted = factors_of_row(here, row);
  EXPECT_THAT(factors_of_row(there, placed), testing::Pointwise(testing::FloatNear(1e-6F), wanted));
  there.history = {};
  EXPECT_THAT(factors_of_row(there, placed), testing::Pointwise(testing::FloatNear(1e-6F), wanted));
}

TEST(RowsWithoutEntries, ChangeNoUpdate) {
  std::vector<test::Entry> entries;
  for (Index user = 0; user < 40; ++user) entries.push_back({user, (user * 7) % 80, 2.0F});
  const CsrMatrix cells = test::make_csr(300, 80, entries);
  Interactions more;
  more.users = full().users.share();
  more.items = full().items.share();
  more.by_user = cells.share();
  const Interactions placed = by_numbers(cells.view(), kUsers, kItems);
  const Device cpu = open_device("cpu");
  for (const char* algorithm : {"als", "item-knn"}) {
    const Case one{algorithm, "implicit", 0.0};
    const Model there = train(plan_of(one, sparse()), sparse());
    const Model here = train(plan_of(one, full()), full());
    EXPECT_EQ(scores_of(update_model(there, placed, {}, cpu).model, true),
              scores_of(update_model(here, more, {}, cpu).model, false))
        << algorithm;
  }
}

TEST(RowsWithoutEntries, AreNeverDrawnAsNegatives) {
  // Items 0 and 2 of 5 are there. Of each user the other one is all that can be drawn.
  const CsrMatrix m = test::make_csr(2, 5, std::vector<test::Entry>{{0, 0, 1.0F}, {1, 2, 1.0F}});
  Factors factors{Matrix(2, 1), Matrix(5, 1), {}, Array<float>(5), 0.0F};
  for (Index item = 0; item < 5; ++item) factors.item_bias[item] = item % 2 == 0 ? 0.0F : -1.0F;
  factors.item_bias[4] = -1.0F;
  for (int epoch = 1; epoch <= 200; ++epoch) {
    EXPECT_EQ(sample_hits(m.view(), factors, {}, epoch).correct, 0) << "nothing is above its equal";
  }
}

}  // namespace
}  // namespace likewise
