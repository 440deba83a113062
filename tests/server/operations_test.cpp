// SPDX-License-Identifier: Apache-2.0
/// Operations as functions of a model and a request.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/query.h"
#include "server/operation.h"
#include "tests/server/small_service.h"

namespace likewise::test {
namespace {

using server::FaultKind;
using server::Json;
using server::Outcome;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

/// With a model of ALS.
const server::Service& als() {
  static const auto made = [] {
    auto service = std::make_unique<server::Service>();
    service->serve(served());
    return service;
  }();
  return *made;
}

[[nodiscard]] const server::Operation& operation(const server::Service& service,
                                                 std::string_view name) {
  return *std::ranges::find(service.operations(), name, &server::Operation::name);
}

/// The body of an answer, which is as its schema says.
[[nodiscard]] Json checked(const server::Service& service, std::string_view name,
                           const std::string& request) {
  const Json body = answer_of(ask(service, name, request));
  server::check(operation(service, name).answer, body);
  return body;
}

struct Refused {
  const char* operation;
  const char* request;
  FaultKind kind;
  const char* parameter;
  const char* message;
};

TEST(Operations, AnswerAsTheQueriesBelowThem) {
  const Json body = checked(als(), "recommend", R"({"users": ["u107", "u103"], "n": 3})");
  const auto model = als().model();
  RecommendQuestion question;
  question.users = std::vector<Index>{7, 3};
  question.n = 3;
  std::size_t list = 0;
  model->queries().recommend(question, [&](const AnswerList& expected) {
    const Json& found = body["lists"][list++];
    EXPECT_EQ(found["user"], expected.asked);
    ASSERT_THAT(found["items"], SizeIs(expected.answers.size()));
    for (std::size_t a = 0; a < expected.answers.size(); ++a) {
      EXPECT_EQ(found["items"][a]["item"], expected.answers[a].id);
      EXPECT_EQ(found["items"][a]["title"], expected.answers[a].title);
      EXPECT_EQ(found["items"][a]["score"].get<float>(), expected.answers[a].score);
    }
  });
  EXPECT_EQ(list, 2U);
}

TEST(Operations, FiltersAndReasonsAreThoseOfTheRequest) {
  const Json allowed =
      checked(als(), "recommend",
              R"({"users": ["u101"], "allow": ["i103", "i104"], "include_seen": true})");
  ASSERT_THAT(allowed["lists"][0]["items"], SizeIs(2));
  const Json denied =
      checked(als(), "recommend",
              R"({"users": ["u101"], "deny": ["i103"], "n": 20, "include_seen": true})");
  EXPECT_THAT(denied["lists"][0]["items"], SizeIs(19));
  const Json explained = checked(
      als(), "recommend", R"({"likes": ["i101", {"item": "i105", "value": 3}], "reasons": 1})");
  EXPECT_EQ(explained["lists"][0]["user"], "visitor");
  EXPECT_THAT(explained["lists"][0]["items"][0]["reasons"], SizeIs(1));
  EXPECT_EQ(
      explained["lists"][0]["items"][0]["reasons"][0]["title"].get<std::string>().substr(0, 8),
      "The film");
}

TEST(Operations, VisitorsHaveTheirNames) {
  const Json body =
      checked(als(), "recommend",
              R"({"visitors": [{"name": "ann", "likes": ["i101"]}, {"likes": ["i102", "i103"]}]})");
  EXPECT_EQ(body["lists"][0]["user"], "ann");
  EXPECT_EQ(body["lists"][1]["user"], "visitor 2");
}

TEST(Operations, UnknownIdsAreLeftOutWhereAsked) {
  const Json body =
      checked(als(), "recommend",
              R"({"users": ["u101", "nobody"], "deny": ["none"], "unknown": "leave_out"})");
  EXPECT_THAT(body["lists"], SizeIs(1));
  EXPECT_EQ(body["left_out"], (Json{{"users", 1}, {"items", 1}}));
  const Json pairs = checked(als(), "predict", R"({"pairs": [["u101", "i101"], ["x", "i101"]]})");
  EXPECT_THAT(pairs["values"], SizeIs(2));
  EXPECT_EQ(pairs["left_out"], (Json{{"users", 1}, {"items", 0}}));
}

TEST(Operations, ItemsAreFoundByWordsOfTheirTitles) {
  const auto found = [](const char* request) {
    std::vector<std::string> ids;
    const Json body = checked(als(), "items", request);
    for (const Json& item : body["items"]) ids.push_back(item["item"]);
    return ids;
  };
  EXPECT_THAT(found(R"({"query": "amelie DESTIN"})"), ElementsAre("i119"));
  EXPECT_THAT(found(R"({"query": "i104"})"), ElementsAre("i104"));
  EXPECT_THAT(found(R"({"query": "nothing like that"})"), SizeIs(0));
  EXPECT_THAT(found(R"({"items": ["i102"]})"), ElementsAre("i102"));
  EXPECT_THAT(found(R"({"items": ["i105", "i102", "i105"]})"), ElementsAre("i105", "i102", "i105"));
  EXPECT_THAT(found(R"({"n": 4})"), SizeIs(4));
  const Json some = checked(als(), "items", R"({"items": ["x", "i102"], "unknown": "leave_out"})");
  EXPECT_THAT(some["items"], SizeIs(1));
  EXPECT_EQ(some["left_out"], (Json{{"users", 0}, {"items", 1}}));
}

TEST(Operations, ModelSaysWhatItIs) {
  const Json body = checked(als(), "model", "{}");
  EXPECT_EQ(body["algorithm"], "als");
  EXPECT_EQ(body["users"], 30);
  EXPECT_THAT(body["can"], testing::Contains(Json("explain")));
  EXPECT_EQ(body["limits"]["n"], server::Limits{}.n);
  EXPECT_EQ(body["limits"]["batch"], server::Limits{}.batch);
  EXPECT_EQ(body["parameters"]["factors"], "4");
  EXPECT_FALSE(body["parameters"].contains("cg_steps"));  // of another solver
}

TEST(Operations, RefuseWithASentence) {
  const std::string many = [] {
    std::string users;
    for (int u = 0; u < 1001; ++u) users += (u == 0 ? "" : ",") + std::to_string(u);
    return R"({"users": [)" + users + "]}";
  }();
  const std::vector<Refused> cases{
      {"recommend", R"({"users": ["x"]})", FaultKind::kNotFound, "users", "user 'x' is not"},
      {"recommend", R"({"likes": ["x"]})", FaultKind::kNotFound, "likes", "item 'x' is not"},
      {"recommend", "{}", FaultKind::kInvalidArgument, "", "exactly one of users, likes, visitors"},
      {"recommend", R"({"users": ["u101"], "likes": ["i101"]})", FaultKind::kInvalidArgument, "",
       "exactly one"},
      {"recommend", R"({"users": []})", FaultKind::kInvalidArgument, "users", "is empty"},
      {"recommend", R"({"users": "u101"})", FaultKind::kInvalidArgument, "users", "must be a list"},
      {"recommend", R"({"users": ["u101", 1.5]})", FaultKind::kInvalidArgument, "users[1]",
       "users[1] must be a text or a whole"},
      {"recommend", R"({"visitors": [{"likes": ["i101"]}, "i101"]})", FaultKind::kInvalidArgument,
       "visitors[1]", "visitors[1] must be an object"},
      {"recommend", R"({"users": ["u101"], "n": 0})", FaultKind::kInvalidArgument, "n",
       "between 1 and 1000, not 0"},
      {"recommend", R"({"users": ["u101", 18446744073709551616]})", FaultKind::kInvalidArgument,
       "users[1]", "up to 18446744073709551615: send a longer id as a text"},
      {"recommend", R"({"likes": [1e30]})", FaultKind::kInvalidArgument, "likes[0]", "as a text"},
      {"recommend", R"({"users": [18446744073709551615]})", FaultKind::kNotFound, "users",
       "user '18446744073709551615' is not"},
      {"recommend", R"({"users": ["u101"], "n": 1e9})", FaultKind::kInvalidArgument, "n",
       "between 1 and 1000"},
      {"recommend", R"({"users": ["u101"], "n": 99999999999999999999})",
       FaultKind::kInvalidArgument, "n", "between 1 and 1000"},
      {"recommend", R"({"users": ["u101"], "n": 2.5})", FaultKind::kInvalidArgument, "n", "whole"},
      {"recommend", R"({"users": ["u101"], "m": 1})", FaultKind::kInvalidArgument, "m",
       "no parameter 'm'"},
      {"recommend", R"({"users": ["u101"], "unknwon": "refuse"})", FaultKind::kInvalidArgument,
       "unknwon", "no parameter 'unknwon' here (did you mean unknown?)"},
      {"recommend", R"({"users": ["u101"], "unknown": "skip"})", FaultKind::kInvalidArgument,
       "unknown", "one of refuse, leave_out"},
      {"recommend", R"({"users": ["u101"], "allow": ["x"], "unknown": "leave_out"})",
       FaultKind::kInvalidArgument, "allow", "nothing may be recommended"},
      {"recommend", R"({"likes": [{"item": "i101", "value": 1}, {"item": "i101", "value": 2}]})",
       FaultKind::kInvalidArgument, "", "twice"},
      {"recommend", R"({"likes": [{"item": "i101", "value": 1e-300}]})",
       FaultKind::kInvalidArgument, "likes", "too close to 0"},
      {"recommend", R"({"likes": [{"value": 1}]})", FaultKind::kInvalidArgument, "likes[0].item",
       "missing"},
      {"recommend", many.c_str(), FaultKind::kTooLarge, "users", "1,001 entries, more than 1,000"},
      {"recommend", "[]", FaultKind::kInvalidArgument, "", "must be an object"},
      {"similar", R"({"items": ["i101"], "metric": "jaccard"})", FaultKind::kInvalidArgument,
       "metric", "one of cosine, dot"},
      {"similar", R"({"items": ["i101"], "metric": "hellinger"})", FaultKind::kInvalidArgument, "",
       "negative"},
      {"predict", R"({"pairs": [["u101"]]})", FaultKind::kInvalidArgument, "pairs[0]", "2 entries"},
      {"predict", R"({"pairs": [["u101", "i101", "i102"]]})", FaultKind::kTooLarge, "pairs[0]",
       "3"},
      {"explain", R"({"user": "u101"})", FaultKind::kInvalidArgument, "item", "missing"},
      {"items", R"({"items": ["i101"], "query": "x"})", FaultKind::kInvalidArgument, "items",
       "nothing"},
      {"items", R"({"items": ["x"]})", FaultKind::kNotFound, "items", "item 'x' is not"},
      {"items", R"({"unknown": "leave_out"})", FaultKind::kInvalidArgument, "unknown", "nothing"},
  };
  for (const Refused& one : cases) {
    const server::Fault fault = fault_of(ask(als(), one.operation, one.request));
    EXPECT_EQ(fault.kind(), one.kind) << one.request << " " << fault.what();
    EXPECT_EQ(fault.parameter(), one.parameter) << one.request;
    EXPECT_THAT(fault.what(), HasSubstr(one.message)) << one.request;
  }
}

TEST(Operations, ListsTimesAnswersAreBounded) {
  server::Limits limits;
  limits.answers = 50;
  limits.explained = 10;
  server::Service service(limits);
  service.serve(served());
  const auto refused = [&](const char* request) {
    return fault_of(ask(service, "recommend", request)).kind();
  };
  (void)answer_of(ask(service, "recommend", R"({"users": ["u101", "u102"], "n": 25})"));
  EXPECT_EQ(refused(R"({"users": ["u101", "u102"], "n": 26})"), FaultKind::kTooLarge);
  EXPECT_EQ(refused(R"({"users": ["u101", "u102"], "n": 6, "reasons": 1})"), FaultKind::kTooLarge);
  EXPECT_EQ(fault_of(ask(service, "similar", R"({"items": ["i101"], "n": 51})")).kind(),
            FaultKind::kTooLarge);
}

TEST(Operations, WithoutAModelSayThatThereIsNone) {
  const server::Service service;
  for (const char* name : {"recommend", "similar", "predict", "items", "model", "ready"}) {
    const std::map<std::string, const char*> requests{{"recommend", R"({"users": [1]})"},
                                                      {"similar", R"({"items": [1]})"},
                                                      {"predict", R"({"pairs": [[1, 2]]})"}};
    const auto request = requests.find(name);
    const Outcome outcome = ask(service, name, request == requests.end() ? "{}" : request->second);
    EXPECT_EQ(fault_of(outcome).kind(), FaultKind::kUnavailable) << name;
  }
  EXPECT_EQ(answer_of(ask(service, "health", "{}"))["status"], "ok");
}

TEST(Operations, TogetherIsAsOneByOne) {
  const std::vector<Json> requests{
      Json::parse(R"({"users": ["u101"]})"),
      Json::parse(R"({"users": ["nobody"]})"),
      Json::parse(R"({"users": ["u102", "u103"]})"),
      Json::parse(R"({"users": ["u104"], "n": 3})"),
      Json::parse(R"({"likes": ["i101", "i102"]})"),
      Json::parse(R"({"likes": ["i103"]})"),
      Json::parse(R"({"likes": [{"item": "i103", "value": 1e39}]})"),
      Json::parse(R"({"users": ["u105"], "deny": ["i101"]})"),
      Json::parse(R"({"users": ["u105"], "reasons": 2})"),
      Json::parse(R"({"users": ["u100", "u106", "x"], "unknown": "leave_out"})"),
  };
  std::vector<const Json*> asked;
  for (const Json& request : requests) asked.push_back(&request);
  const server::Operation& recommend = operation(als(), "recommend");
  const std::vector<Outcome> together = server::answer_checked(als(), recommend, asked);
  ASSERT_EQ(together.size(), requests.size());
  for (std::size_t r = 0; r < requests.size(); ++r) {
    const Outcome alone = server::answer(als(), recommend, requests[r]);
    ASSERT_EQ(alone.index(), together[r].index()) << requests[r];
    if (alone.index() == 0) {
      EXPECT_EQ(std::get<0>(alone), std::get<0>(together[r]));
    } else {
      EXPECT_STREQ(std::get<1>(alone).what(), std::get<1>(together[r]).what());
    }
  }
}

using Trained = std::tuple<std::string, Feedback>;
class EveryAlgorithm : public testing::TestWithParam<Trained> {};

/// What /v1/model says it can, it does; what it cannot is refused, never a fault of the server.
TEST_P(EveryAlgorithm, Serves) {
  const auto& [algorithm, feedback] = GetParam();
  server::Service service;
  try {
    service.serve(served(algorithm, feedback));
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();  // an algorithm that does not take this feedback
  }
  const Json can = checked(service, "model", "{}")["can"];
  const std::map<std::string, std::pair<const char*, const char*>> questions{
      {"recommend", {"recommend", R"({"users": ["u101", "u100"], "n": 4})"}},
      {"visitors", {"recommend", R"({"likes": ["i101", "i102"]})"}},
      {"similar_items", {"similar", R"({"items": ["i101"]})"}},
      {"similar_users", {"similar", R"({"users": ["u101"]})"}},
      {"predict", {"predict", R"({"pairs": [["u101", "i101"]]})"}},
      {"explain", {"explain", R"({"user": "u101", "item": "i101"})"}}};
  for (const auto& [ability, question] : questions) {
    if (std::ranges::find(can, Json(ability)) != can.end()) {
      EXPECT_FALSE(checked(service, question.first, question.second).empty());
    } else {
      EXPECT_EQ(fault_of(ask(service, question.first, question.second)).kind(),
                FaultKind::kInvalidArgument)
          << ability;
    }
  }
  EXPECT_FALSE(can.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Server, EveryAlgorithm,
    testing::Combine(testing::ValuesIn([] {
                       std::vector<std::string> names;
                       for (const auto name : algorithm_names()) names.emplace_back(name);
                       return names;
                     }()),
                     testing::Values(Feedback::kImplicit, Feedback::kExplicit)),
    [](const auto& info) {
      std::string name = std::get<0>(info.param);
      std::erase(name, '-');
      return name + (std::get<1>(info.param) == Feedback::kImplicit ? "OfCounts" : "OfRatings");
    });

}  // namespace
}  // namespace likewise::test
