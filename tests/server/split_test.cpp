// SPDX-License-Identifier: Apache-2.0
#include "server/split.h"

#include <array>
#include <functional>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/events/event_store.h"
#include "server/events/live.h"
#include "tests/errors.h"
#include "tests/server/small_service.h"

namespace likewise::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST(Split, SharesAreThoseThatWereAskedFor) {
  const Split split({"a", "b", "none", "c"}, {70, 20, 0, 10});
  std::array<int, 4> users{};
  constexpr int kUsers = 200'000;
  for (int u = 0; u < kUsers; ++u) ++users[split.of_user(fmt::format("user {}", u))];
  // Three standard deviations of a share of 0.2 are 0.0027.
  EXPECT_NEAR(users[0] / double{kUsers}, 0.7, 0.003);
  EXPECT_NEAR(users[1] / double{kUsers}, 0.2, 0.003);
  EXPECT_EQ(users[2], 0);
  EXPECT_NEAR(users[3] / double{kUsers}, 0.1, 0.003);
  EXPECT_DOUBLE_EQ(split.share(0), 0.7);
  EXPECT_NEAR(split.share(1), 0.2, 1e-12);
  EXPECT_EQ(split.share(2), 0.0);
  EXPECT_NEAR(split.share(3), 0.1, 1e-12);
}

TEST(Split, AUserStaysWhereTheSharesStay) {
  const Split split({"a", "b"}, {});
  EXPECT_DOUBLE_EQ(split.share(0), 0.5);
  // By the id alone: these are the answers of any process on any machine.
  EXPECT_EQ(split.of_user("u1"), Split({"x", "y"}, {1, 1}).of_user("u1"));
  const Split grown({"a", "b"}, {40, 60});
  for (int u = 0; u < 1000; ++u) {
    const std::string id = std::to_string(u);
    if (split.of_user(id) == 1) {
      EXPECT_EQ(grown.of_user(id), 1U) << id;
    }
  }
}

TEST(Split, OneModelAnswersAll) {
  const Split one;
  EXPECT_TRUE(one.is_of_one());
  EXPECT_EQ(one.of_user("anyone"), 0U);
  EXPECT_EQ(one.share(0), 1.0);
}

TEST(Split, WhatIsNoSplitIsRefused) {
  const auto refused = [](std::vector<std::string> names, const std::vector<double>& shares) {
    return test::error_of(ErrorKind::kInvalidArgument,
                          [&] { (void)Split(std::move(names), shares); });
  };
  EXPECT_THAT(refused({}, {}), HasSubstr("1 to 16 models are served at once, not 0"));
  EXPECT_THAT(refused(std::vector<std::string>(17, "a"), {}), HasSubstr("not 17"));
  EXPECT_THAT(refused({"a", "a"}, {}), HasSubstr("two models are called 'a'"));
  EXPECT_THAT(refused({"a", "b c"}, {}), HasSubstr("'b c' is no name of a model"));
  EXPECT_THAT(refused({"a", "x\"y"}, {}), HasSubstr("is no name of a model"));
  EXPECT_THAT(refused({"a", ""}, {}), HasSubstr("'' is no name of a model"));
  EXPECT_THAT(refused({"a", "b"}, {1}), HasSubstr("1 share for 2 models"));
  EXPECT_THAT(refused({"a", "b"}, {1, -1}), HasSubstr("-1 is no share"));
  EXPECT_THAT(refused({"a", "b"}, {1, std::nan("")}), HasSubstr("nan is no share"));
  EXPECT_THAT(refused({"a", "b"}, {0, 0}), HasSubstr("somebody has to answer"));
}

/// A model without the users of whom `is_stranger` holds.
[[nodiscard]] std::shared_ptr<const ServedModel> served_without(
    const std::function<bool(const std::string&)>& is_stranger) {
  Interactions data = test::small_data();
  std::vector<std::string> users;
  for (Index u = 0; u < data.users.size(); ++u) {
    const std::string user(data.users.name(u));
    users.push_back(is_stranger(user) ? "not " + user : user);
  }
  data.users = IdMap::from_text(users);
  return std::make_shared<const ServedModel>(test::small_model("als", Feedback::kImplicit, data),
                                             open_device("cpu"));
}

/// als answers three quarters of the users, item-knn the rest.
class TwoModels : public testing::Test {
 protected:
  TwoModels() {
    service_.serve(test::served("als"), 0);
    service_.serve(test::served("item-knn"), 1);
  }

  [[nodiscard]] Json answer(std::string_view operation, const std::string& request) const {
    return test::answer_of(test::ask(service_, operation, request));
  }
  /// The answer alone of the model by itself.
  [[nodiscard]] Json items_of(const Service& service, const std::string& user) const {
    return test::answer_of(
        test::ask(service, "recommend", R"({"users": [")" + user + R"("]})"))["lists"][0]["items"];
  }
  [[nodiscard]] std::string model_of(const std::string& user) const {
    return service_.split().names()[service_.split().of_user(user)];
  }

  Service service_{{}, Split({"old", "new"}, {75, 25})};
};

TEST_F(TwoModels, EachUserIsAnsweredByOneOfThem) {
  Service als;
  als.serve(test::served("als"));
  Service knn;
  knn.serve(test::served("item-knn"));
  int of_knn = 0;
  for (int u = 101; u < 130; ++u) {
    const std::string user = fmt::format("u{}", u);
    const Json body = answer("recommend", R"({"users": [")" + user + R"("]})");
    EXPECT_EQ(body["lists"][0]["served_by"], model_of(user));
    EXPECT_EQ(body["lists"][0]["items"], items_of(model_of(user) == "old" ? als : knn, user));
    of_knn += model_of(user) == "new" ? 1 : 0;
  }
  EXPECT_GT(of_knn, 0);
  EXPECT_LT(of_knn, 15);
}

TEST_F(TwoModels, ABatchIsAnsweredInTheOrderOfItsUsers) {
  Json users = Json::array();
  for (int u = 101; u < 130; ++u) users.push_back(fmt::format("u{}", u));
  users.insert(users.begin() + 3, "nobody");
  users.push_back("u101");
  const Json body =
      answer("recommend", Json{{"users", users}, {"unknown", "leave_out"}, {"n", 3}}.dump());
  ASSERT_THAT(body["lists"], SizeIs(users.size() - 1));
  EXPECT_EQ(body["left_out"]["users"], 1);
  users.erase(3);
  for (std::size_t l = 0; l < users.size(); ++l) {
    const auto user = users[l].get<std::string>();
    EXPECT_EQ(body["lists"][l]["user"], user);
    EXPECT_EQ(body["lists"][l]["served_by"], model_of(user));
  }
  EXPECT_EQ(body["model"], "memory,memory");
  EXPECT_EQ(
      test::fault_of(test::ask(service_, "recommend", R"({"users": ["u101", "nobody"]})")).kind(),
      FaultKind::kNotFound);
}

TEST_F(TwoModels, RequestsThatComeTogetherAreAnsweredAsAlone) {
  std::vector<Json> requests;
  for (int u = 101; u < 130; ++u) {
    requests.push_back({{"users", {fmt::format("u{}", u)}}, {"n", 4}});
  }
  requests.push_back(
      {{"users", {"u101", "u102", "u103", "u104", "u105", "u106", "u107"}}, {"n", 4}});
  requests.push_back({{"users", {"nobody"}}, {"n", 4}});
  requests.push_back({{"likes", {"i101"}}, {"n", 4}});
  std::vector<const Json*> pointers;
  for (const Json& request : requests) pointers.push_back(&request);
  const Operation& operation = service_.operations()[0];
  ASSERT_EQ(operation.name, "recommend");
  const std::vector<Outcome> together = answer_checked(service_, operation, pointers);
  ASSERT_THAT(together, SizeIs(requests.size()));
  for (std::size_t r = 0; r < requests.size(); ++r) {
    const Outcome alone = test::ask(service_, "recommend", requests[r].dump());
    ASSERT_EQ(alone.index(), together[r].index()) << requests[r];
    if (std::holds_alternative<std::string>(alone)) {
      EXPECT_EQ(std::get<std::string>(alone), std::get<std::string>(together[r]));
    }
  }
}

TEST_F(TwoModels, ARequestMayNameTheModel) {
  for (const std::string name : {"old", "new"}) {
    const Json body =
        answer("recommend", R"({"users": ["u101", "u102"], "served_by": ")" + name + R"("})");
    EXPECT_EQ(body["lists"][0]["served_by"], name);
    EXPECT_EQ(body["lists"][1]["served_by"], name);
    EXPECT_EQ(answer("model", R"({"served_by": ")" + name + R"("})")["algorithm"],
              name == "old" ? "als" : "item-knn");
  }
  EXPECT_EQ(answer("recommend", R"({"likes": ["i101"]})")["lists"][0]["served_by"], "old");
  for (const char* operation : {"recommend", "similar", "predict", "explain", "items", "model"}) {
    const Fault fault = test::fault_of(test::ask(service_, operation, R"({"served_by": "third"})"));
    EXPECT_EQ(fault.kind(), FaultKind::kInvalidArgument) << operation;
  }
  Service one;
  one.serve(test::served());
  EXPECT_THAT(
      test::fault_of(test::ask(one, "recommend", R"({"likes": ["i101"], "served_by": "old"})"))
          .what(),
      HasSubstr("served_by"));
}

TEST_F(TwoModels, PairsArePredictedByTheModelsOfTheirUsers) {
  Json pairs = Json::array();
  for (int u = 101; u < 130; ++u) pairs.push_back({fmt::format("u{}", u), "i103"});
  const Json whole = answer("predict", Json{{"pairs", pairs}}.dump());
  ASSERT_THAT(whole["values"], SizeIs(pairs.size()));
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const Json alone = answer(
        "predict",
        Json{{"pairs", Json::array({pairs[p]})}, {"served_by", model_of(pairs[p][0])}}.dump());
    EXPECT_EQ(whole["values"][p], alone["values"][0]) << pairs[p];
  }
}

TEST_F(TwoModels, SimilarUsersAreThoseOfTheUsersOwnModels) {
  service_.serve(test::served("user-knn"), 1);
  Json users = Json::array();
  for (int u = 101; u < 130; ++u) users.push_back(fmt::format("u{}", u));
  users.insert(users.begin() + 3, "nobody");
  const Json body =
      answer("similar", Json{{"users", users}, {"unknown", "leave_out"}, {"n", 3}}.dump());
  EXPECT_EQ(body["left_out"]["users"], 1);
  users.erase(3);
  ASSERT_THAT(body["lists"], SizeIs(users.size()));
  for (std::size_t l = 0; l < users.size(); ++l) {
    const auto user = users[l].get<std::string>();
    const Json alone =
        answer("similar",
               Json{{"users", {user}}, {"served_by", model_of(user)}, {"n", 3}}.dump())["lists"][0];
    EXPECT_EQ(body["lists"][l], alone);
    EXPECT_EQ(alone["user"], user);
    EXPECT_EQ(alone["served_by"], model_of(user));
    EXPECT_THAT(alone["users"], SizeIs(testing::Ge(1)));
  }
  EXPECT_EQ(body["model"], "memory,memory");
  const Json items = answer("similar", R"({"items": ["i101", "i102"]})");
  EXPECT_EQ(items["model"], "memory");
  EXPECT_EQ(items["lists"][1]["item"], "i102");
  EXPECT_EQ(items["lists"][1]["served_by"], "old");
}

TEST_F(TwoModels, AUserIsToldByAllThatKnowIt) {
  for (const std::string user : {"u101", "u102", "u103", "u104", "u105"}) {
    const Json told = answer("user", Json{{"user", user}}.dump());
    EXPECT_EQ(told["served_by"], model_of(user));
    ASSERT_THAT(told["others"], SizeIs(1));
    EXPECT_NE(told["others"][0]["served_by"], model_of(user));
    EXPECT_EQ(told["others"][0]["history"].size(), told["history"].size());
    const Json of_old = answer("user", Json{{"user", user}, {"served_by", "old"}}.dump());
    EXPECT_EQ(of_old["served_by"], "old");
    EXPECT_FALSE(of_old.contains("others"));
  }
}

TEST_F(TwoModels, AUserWhomTheOwnModelDoesNotKnowIsToldByTheOther) {
  service_.serve(served_without([&](const std::string& user) { return model_of(user) == "new"; }),
                 1);
  int strangers = 0;
  for (int u = 101; u < 130; ++u) {
    const std::string user = fmt::format("u{}", u);
    if (model_of(user) == "old") continue;
    ++strangers;
    const Json told = answer("user", Json{{"user", user}}.dump());
    EXPECT_EQ(told["served_by"], "old");
    EXPECT_FALSE(told["history"].empty());
    EXPECT_FALSE(told.contains("others"));
    EXPECT_EQ(test::fault_of(
                  test::ask(service_, "user", Json{{"user", user}, {"served_by", "new"}}.dump()))
                  .kind(),
              FaultKind::kNotFound);
  }
  EXPECT_GT(strangers, 0);
  EXPECT_EQ(test::fault_of(test::ask(service_, "user", R"({"user": "nobody"})")).kind(),
            FaultKind::kNotFound);
}

TEST_F(TwoModels, AllOfThemAreDescribed) {
  const Json models = answer("model", "{}")["models"];
  ASSERT_THAT(models, SizeIs(2));
  EXPECT_EQ(models[0]["name"], "old");
  EXPECT_EQ(models[0]["share"], 0.75);
  EXPECT_EQ(models[1]["algorithm"], "item-knn");
  const std::string metrics = std::get<std::string>(test::ask(service_, "metrics", "{}"));
  EXPECT_THAT(metrics, HasSubstr("likewise_model_info{model=\"new\",fingerprint=\"memory\","
                                 "algorithm=\"item-knn\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("likewise_model_refused{model=\"old\"} 0\n"));
  service_.refuse_model(1);
  EXPECT_THAT(std::get<std::string>(test::ask(service_, "metrics", "{}")),
              HasSubstr("likewise_model_refused{model=\"new\"} 1\n"));
}

TEST(TwoModelsNotLoaded, AreNotReady) {
  Service service({}, Split({"old", "new"}, {}));
  service.serve(test::served(), 0);
  EXPECT_EQ(test::fault_of(test::ask(service, "ready", "{}")).kind(), FaultKind::kUnavailable);
  service.serve(test::served(), 1);
  EXPECT_NO_THROW((void)test::answer_of(test::ask(service, "ready", "{}")));
}

TEST(TwoModelsWithEvents, WhatIsFollowedCountsForTheModelThatOfferedIt) {
  const test::TemporaryFolder folder;
  Live live(open_event_store(folder / "events.sqlite"));
  Service service({}, Split({"old", "new"}, {75, 25}));
  service.use_events(live);
  service.serve(test::served("als"), 0);
  service.serve(test::served("item-knn"), 1);
  std::array<int, 2> followed{};
  for (int u = 101; u < 130; ++u) {
    const std::string user = fmt::format("u{}", u);
    const Json list = test::answer_of(
        test::ask(service, "recommend", Json{{"users", {user}}, {"n", 2}}.dump()))["lists"][0];
    ASSERT_THAT(list["items"], SizeIs(2));
    (void)test::answer_of(test::ask(
        service, "events", Json{{"user", user}, {"item", list["items"][0]["item"]}}.dump()));
    ++followed[service.split().of_user(user)];
    const Json again = test::answer_of(
        test::ask(service, "recommend", Json{{"users", {user}}, {"n", 1}}.dump()))["lists"][0];
    EXPECT_EQ(again["served_by"], list["served_by"]);
    EXPECT_NE(again["items"][0]["item"], list["items"][0]["item"]);  // seen now
  }
  const Json models = test::answer_of(test::ask(service, "model", "{}"))["models"];
  for (std::size_t m = 0; m < 2; ++m) {
    EXPECT_EQ(models[m]["followed"], followed[m]);
    EXPECT_EQ(models[m]["offered"], 3 * followed[m]);
  }
  EXPECT_THAT(
      std::get<std::string>(test::ask(service, "metrics", "{}")),
      HasSubstr(fmt::format("likewise_followed_items_total{{model=\"new\"}} {}\n", followed[1])));
}

}  // namespace
}  // namespace likewise::server
