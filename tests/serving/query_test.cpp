// SPDX-License-Identifier: Apache-2.0
#include "likewise/query.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/als.h"
#include "likewise/device.h"
#include "likewise/knn.h"
#include "tests/errors.h"
#include "tests/support.h"
#include "training/train.h"

namespace likewise {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using Ids = std::vector<std::string>;

/// ann, bob and cy with a to e; cy has all but one.
[[nodiscard]] Interactions ratings() {
  Interactions data;
  data.users = IdMap::from_text(Ids{"ann", "bob", "cy"});
  data.items = IdMap::from_text(Ids{"a", "b", "c", "d", "e"});
  const std::vector<test::Entry> entries{{0, 0, 5.0F}, {0, 1, 4.0F}, {1, 1, 4.0F},
                                         {1, 2, 2.0F}, {1, 4, 1.0F}, {2, 0, 5.0F},
                                         {2, 1, 3.0F}, {2, 2, 2.0F}, {2, 3, 4.0F}};
  data.by_user = test::make_csr(3, 5, entries);
  return data;
}

[[nodiscard]] std::shared_ptr<const Model> model_of(const TrainingParams& params) {
  return std::make_shared<const Model>(train(ratings(), params, open_device("cpu")));
}

[[nodiscard]] Queries factors(Titles titles = {}) {
  AlsParams params;
  params.factors = 4;
  return {model_of(params), open_device("cpu"), std::move(titles)};
}

[[nodiscard]] Queries of_ratings() {
  AlsParams params;
  params.factors = 4;
  params.feedback = Feedback::kExplicit;
  return {model_of(params), open_device("cpu")};
}

template <class Question, class Ask>
[[nodiscard]] std::vector<AnswerList> lists_of(const Question& question, const Ask& ask) {
  std::vector<AnswerList> lists;
  ask(question, [&](const AnswerList& list) { lists.push_back(list); });
  return lists;
}

[[nodiscard]] std::vector<AnswerList> recommended(const Queries& queries,
                                                  const RecommendQuestion& question,
                                                  QuerySummary* summary = nullptr) {
  return lists_of(question, [&](const auto& asked, const TakeList& take) {
    const QuerySummary found = queries.recommend(asked, take);
    if (summary != nullptr) *summary = found;
  });
}

[[nodiscard]] Ids ids_of(const AnswerList& list) {
  Ids ids;
  for (const Answer& answer : list.answers) ids.push_back(answer.id);
  return ids;
}

TEST(Query, UsersAndTitlesAreThoseOfTheModel) {
  const Queries queries = factors();
  for (const Index user : {-1, 3}) {
    EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                               [&] { static_cast<void>(queries.explain(user, 0)); }),
                EndsWith(" is outside [0, 3)"));
  }
  EXPECT_THAT(test::error_of(ErrorKind::kBadData,
                             [] {
                               static_cast<void>(factors(make_titles({"A", "B"})));
                             }),
              HasSubstr("for 5 items"));
}

TEST(Query, UnknownIdsAreRefusedOrCounted) {
  const IdMap ids = ratings().users;
  EXPECT_THAT(rows_of(ids, Ids{"cy", "ann"}, "user").rows, ElementsAre(2, 0));
  EXPECT_EQ(test::error_of(ErrorKind::kNotFound,
                           [&] { static_cast<void>(rows_of(ids, Ids{"dora"}, "user")); }),
            "user 'dora' is not in the model (it knows 3 users, such as 'ann')");
  EXPECT_THAT(test::error_of(ErrorKind::kNotFound,
                             [&] { static_cast<void>(row_of(ids, "ann,cy", "user", "")); }),
              HasSubstr("give each id by itself"));
  const Titles titles = make_titles({"Bar", "Foo", "Foo"});
  const auto asked_by_title = [&](const char* title) {
    return test::error_of(ErrorKind::kNotFound, [&] {
      static_cast<void>(rows_of(ids, Ids{title}, "item", UnknownIds::kRefuse, titles));
    });
  };
  EXPECT_THAT(asked_by_title("Bar"), EndsWith("; that is the title of item 'ann': ask for ann"));
  EXPECT_THAT(asked_by_title("Foo"), EndsWith("item 'bob' and of 'cy': ask for bob or cy"));
  EXPECT_THAT(asked_by_title("Fo"), EndsWith("such as 'ann')"));
  EXPECT_THAT(test::error_of(ErrorKind::kNotFound,
                             [&] { static_cast<void>(row_of(ids, "dora", "user", "f:7: ")); }),
              HasSubstr("f:7: user 'dora'"));
  const FoundRows found = rows_of(ids, Ids{"dora", "bob"}, "user", UnknownIds::kLeaveOut);
  EXPECT_THAT(found.rows, ElementsAre(1));
  EXPECT_EQ(found.unknown, 1);
}

TEST(Query, ListsAreInTheOrderOfTheQuestionWithoutWhatWasSeen) {
  const Queries queries = factors();
  QuerySummary summary;
  const auto lists = recommended(queries, {std::vector<Index>{2, 0}, 3}, &summary);
  ASSERT_EQ(lists.size(), 2U);
  EXPECT_EQ(lists[0].asked, "cy");
  EXPECT_THAT(ids_of(lists[0]), ElementsAre("e"));
  EXPECT_EQ(lists[1].asked, "ann");
  EXPECT_THAT(ids_of(lists[1]), testing::UnorderedElementsAre("c", "d", "e"));
  EXPECT_EQ(summary.asked, 2);
  EXPECT_EQ(summary.answers, 4);
  EXPECT_EQ(summary.short_lists, 1);
  EXPECT_EQ(recommended(queries, {Everybody{}, 3}).size(), 3U);
}

TEST(Query, ScoresAreThoseOfTheRecommender) {
  const Queries queries = factors();
  const std::vector<Index> users{1};
  const TopKResult top = queries.recommender().recommend(users, {3});
  const auto lists = recommended(queries, {users, 3});
  for (std::size_t a = 0; a < lists[0].answers.size(); ++a) {
    EXPECT_EQ(lists[0].answers[a].score, top.scores[static_cast<Offset>(a)]);
  }
}

TEST(Query, AllowAndDenyDecideAndNothingAllowedIsAnError) {
  const Queries queries = factors();
  RecommendQuestion question{std::vector<Index>{0}, 5};
  question.allow = {2, 3};
  question.deny = {3};
  EXPECT_THAT(ids_of(recommended(queries, question)[0]), ElementsAre("c"));
  question.allow = std::vector<Index>{};
  EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                             [&] { static_cast<void>(recommended(queries, question)); }),
              HasSubstr("allow is empty"));
}

TEST(Query, TitlesAreWhatPeopleReadAndIdsWhereThereAreNone) {
  const Queries queries = factors(make_titles({"Alpha", "", "Gamma", "", ""}));
  RecommendQuestion question{std::vector<Index>{1}, 5, true};
  question.allow = {0, 3};
  const auto lists = recommended(queries, question);
  ASSERT_EQ(lists[0].answers.size(), 2U);
  for (const Answer& answer : lists[0].answers) {
    EXPECT_EQ(answer.title, answer.id == "a" ? "Alpha" : "d");
  }
  EXPECT_EQ(recommended(factors(), question)[0].answers[0].title, "");
}

TEST(Query, ReasonsArePastItemsThatSpeakForTheAnswer) {
  const Queries queries = factors();
  RecommendQuestion question{std::vector<Index>{1}, 1};
  question.reasons = 2;
  const auto lists = recommended(queries, question);
  const Answer& answer = lists[0].answers.at(0);
  const Explanation why = queries.explain(1, row_of(queries.model().items, answer.id, "item"));
  ASSERT_FALSE(answer.reasons.empty());
  EXPECT_LE(answer.reasons.size(), 2U);
  for (std::size_t r = 0; r < answer.reasons.size(); ++r) {
    EXPECT_EQ(answer.reasons[r].item, queries.model().items.name(why.contributions[r].item));
    EXPECT_EQ(answer.reasons[r].share, why.contributions[r].share);
    EXPECT_GT(answer.reasons[r].share, 0.0);
  }
}

TEST(Query, AVisitorLikesWithTheHighestRatingUnlessOneIsGiven) {
  EXPECT_EQ(value_of_a_like(factors().model()), 1.0F);
  const Queries queries = of_ratings();
  Visitors visitors;
  visitors.add(queries.model(), "eve", std::vector<Like>{{"c"}, {"a", 2.0F}, {"c"}});
  EXPECT_THAT(visitors.rows[0].columns, ElementsAre(0, 2));
  EXPECT_THAT(visitors.rows[0].values, ElementsAre(2.0F, 5.0F));
  visitors.add(queries.model(), "sue", std::vector<Like>{{"a"}, {"nothing"}},
               UnknownIds::kLeaveOut);
  EXPECT_EQ(visitors.unknown, 1);
  const auto lists = recommended(queries, {visitors, 2});
  EXPECT_EQ(lists[0].asked, "eve");
  EXPECT_EQ(lists[1].asked, "sue");
  EXPECT_THAT(
      test::error_of(
          ErrorKind::kInvalidArgument,
          [&] {
            visitors.add(queries.model(), "eve", std::vector<Like>{{"a", 1.0F}, {"a", 2.0F}});
          }),
      HasSubstr("eve has item 'a' twice, with the values 1 and 2"));
  EXPECT_THAT(
      test::error_of(ErrorKind::kNotFound,
                     [&] { visitors.add(queries.model(), "eve", std::vector<Like>{{"x"}}); }),
      HasSubstr("item 'x' is not in the model"));
}

TEST(Query, VisitorsOfAFileHaveItsKnownItems) {
  const Queries queries = factors();
  Interactions data;
  data.users = IdMap::from_text(Ids{"eve"});
  data.items = IdMap::from_text(Ids{"b", "zz"});
  data.by_user = test::make_csr(1, 2, std::vector<test::Entry>{{0, 0, 1.0F}, {0, 1, 1.0F}});
  const Visitors visitors = visitors_of(queries.model(), data);
  EXPECT_THAT(visitors.names, ElementsAre("eve"));
  EXPECT_THAT(visitors.rows[0].columns, ElementsAre(1));
  EXPECT_EQ(visitors.unknown, 1);
}

TEST(Query, SimilarOnesComeByIdAndAnIdleMetricIsRefused) {
  const auto ask = [](const Queries& queries, const SimilarQuestion& question) {
    return lists_of(question, [&](const auto& asked, const TakeList& take) {
      static_cast<void>(queries.similar(asked, take));
    });
  };
  const auto lists = ask(factors(), {Side::kUsers, std::vector<Index>{0}, 2});
  EXPECT_EQ(lists[0].asked, "ann");
  EXPECT_THAT(ids_of(lists[0]), testing::UnorderedElementsAre("bob", "cy"));
  const Queries knn(model_of(KnnParams{}), open_device("cpu"));
  EXPECT_EQ(ask(knn, {Side::kItems, Everybody{}, 2}).size(), 5U);
  EXPECT_THAT(
      test::error_of(
          ErrorKind::kInvalidArgument,
          [&] {
            static_cast<void>(ask(knn, {Side::kItems, Everybody{}, 2, SimilarityMetric::kDot}));
          }),
      HasSubstr("metric would do nothing here"));
}

TEST(Query, PairsAreThoseOfTheRecommenderAndUnknownOnesAreCounted) {
  const Queries queries = of_ratings();
  Pairs pairs;
  pairs.users = IdMap::from_text(Ids{"ann", "eve", "who"});
  pairs.items = IdMap::from_text(Ids{"c", "zz"});
  pairs.user_of = Array<Index>::copy_of(std::vector<Index>{0, 1, 2, 0});
  pairs.item_of = Array<Index>::copy_of(std::vector<Index>{0, 0, 0, 1});
  Visitors visitors;
  visitors.add(queries.model(), "eve", std::vector<Like>{{"a"}});
  const PairPredictions found = queries.predict(pairs, visitors);
  const auto known =
      queries.recommender().predict(std::vector<Index>{0, -1, 0}, std::vector<Index>{2, 2, -1});
  EXPECT_EQ(found.values[0], known[0]);
  EXPECT_EQ(found.values[1],
            queries.recommender().predict_new(visitors.rows, std::vector<Index>{2})[0]);
  EXPECT_EQ(found.values[2], known[1]);
  EXPECT_EQ(found.values[3], known[2]);
  EXPECT_EQ(found.unknown, 2);
}

}  // namespace
}  // namespace likewise
