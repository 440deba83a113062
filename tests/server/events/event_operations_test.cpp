// SPDX-License-Identifier: Apache-2.0
/// Events as a server takes them, without a socket.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/events/stores.h"
#include "tests/server/small_service.h"

namespace likewise::server {
namespace {

using likewise::test::answer_of;
using likewise::test::ask;
using likewise::test::fault_of;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Ids = std::vector<std::string>;

/// A service of a model, with events.
class ServiceWithEvents {
 protected:
  explicit ServiceWithEvents(const char* algorithm = "als")
      : live_(open_event_store(folder_ / "events")) {
    service_.use_events(live_);
    service_.serve(likewise::test::served(algorithm));
  }

  likewise::test::TemporaryFolder folder_;
  Live live_;
  Service service_;
};

class EventsOfOneModel : public testing::Test, protected ServiceWithEvents {};

class EventsOfAnyModel : public testing::TestWithParam<const char*>, protected ServiceWithEvents {
 protected:
  EventsOfAnyModel() : ServiceWithEvents(GetParam()) {}

  [[nodiscard]] Json answer(const char* operation, const std::string& request) const {
    return answer_of(ask(service_, operation, request));
  }
  [[nodiscard]] Fault fault(const char* operation, const std::string& request) const {
    return likewise::test::fault_of(ask(service_, operation, request));
  }
  [[nodiscard]] Ids recommended(const std::string& user) const {
    Ids items;
    const Json lists =
        answer("recommend", fmt::format(R"({{"users": ["{}"], "n": 20}})", user))["lists"];
    for (const Json& item : lists[0]["items"]) items.push_back(item["item"]);
    return items;
  }
};

INSTANTIATE_TEST_SUITE_P(, EventsOfAnyModel,
                         testing::Values("als", "bpr", "item-knn", "user-knn", "ease", "spectral",
                                         "popular"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(EventsOfAnyModel, WhatAUserTookIsNotOfferedAgain) {
  const Ids before = recommended("u105");
  ASSERT_GT(before.size(), 2U);
  EXPECT_EQ(
      answer("events", fmt::format(R"({{"user": "u105", "item": "{}"}})", before[0]))["accepted"],
      1);
  const Ids now = recommended("u105");
  EXPECT_EQ(now.size(), before.size() - 1);
  EXPECT_THAT(now, Not(Contains(before[0])));
  EXPECT_EQ(service_.follows().count(0).followed, 1);
}

TEST_F(EventsOfOneModel, WhatWasDoneBeforeTheOfferDoesNotFollowIt) {
  const Json lists =
      answer_of(ask(service_, "recommend", R"({"users": ["u105"], "n": 1})"))["lists"];
  const Json item = lists[0]["items"][0]["item"];
  const auto followed_after = [&](const Json& event) {
    static_cast<void>(answer_of(ask(service_, "events", event.dump())));
    return service_.follows().count(0).followed;
  };
  EXPECT_EQ(followed_after({{"user", "u105"}, {"item", item}, {"time", 1'700'000'000}}), 0);
  EXPECT_EQ(followed_after({{"user", "u105"}, {"item", item}}), 1);
}

TEST_P(EventsOfAnyModel, SomebodyNewIsKnownByEvents) {
  EXPECT_EQ(fault("recommend", R"({"users": ["new"]})").kind(), FaultKind::kNotFound);
  static_cast<void>(answer("events", R"({"events": [{"user": "new", "item": "i103", "value": 2},
                               {"user": "new", "item": "i104"}, {"user": "new", "item": "never"}]})"));
  const Ids items = recommended("new");
  EXPECT_FALSE(items.empty());
  EXPECT_THAT(items, Not(Contains("i103")));
  EXPECT_THAT(items, Not(Contains("i104")));
}

TEST_P(EventsOfAnyModel, UsersWithAndWithoutEventsStandInTheOrderOfTheRequest) {
  static_cast<void>(answer("events", R"({"user": "u103", "item": "i101"})"));
  const Json lists = answer("recommend", R"({"users": ["u104", "u103", "u105"], "n": 5})")["lists"];
  Ids users;
  for (const Json& list : lists) users.push_back(list["user"]);
  EXPECT_THAT(users, testing::ElementsAre("u104", "u103", "u105"));
  // Those without events get what the model says, whoever asks beside them.
  EXPECT_EQ(lists[0], answer("recommend", R"({"users": ["u104"], "n": 5})")["lists"][0]);
  EXPECT_EQ(lists[1], answer("recommend", R"({"users": ["u103"], "n": 5})")["lists"][0]);
}

TEST_P(EventsOfAnyModel, AUserIsToldAndErased) {
  static_cast<void>(
      answer("events",
             R"({"user": "u105", "item": "i101", "value": 3, "time": 1700000000.5, "key": "k"})"));
  const Json told = answer("user", R"({"user": "u105"})");
  EXPECT_FALSE(told["history"].empty());
  EXPECT_EQ(answer("user", R"({"user": "u105", "n": 1})")["history"].size(), 1U);
  EXPECT_EQ(told["events"],
            Json::parse(R"([{"item": "i101", "value": 3.0, "time": 1700000000.5, "key": "k"}])"));
  EXPECT_EQ(answer("erase", R"({"user": "u105"})")["erased"], 1);
  EXPECT_EQ(fault("user", R"({"user": "u105"})").kind(), FaultKind::kNotFound);
  EXPECT_EQ(fault("recommend", R"({"users": ["u105"]})").kind(), FaultKind::kNotFound);
}

TEST_F(EventsOfOneModel, SimilarUsersAreAsManyAsAskedForWithoutThoseErased) {
  const auto similar = [&] {
    const Json lists =
        answer_of(ask(service_, "similar", R"({"users": ["u105"], "n": 4})"))["lists"];
    Ids users;
    for (const Json& one : lists[0]["users"]) users.push_back(one["user"]);
    return users;
  };
  const Ids before = similar();
  ASSERT_EQ(before.size(), 4U);
  for (const std::size_t gone : {0U, 2U}) {
    static_cast<void>(
        answer_of(ask(service_, "erase", fmt::format(R"({{"user": "{}"}})", before[gone]))));
  }
  const Ids now = similar();
  ASSERT_EQ(now.size(), 4U);
  EXPECT_EQ(Ids(now.begin(), now.begin() + 2), (Ids{before[1], before[3]}));
  EXPECT_THAT(now, Not(Contains(before[0])));
  EXPECT_THAT(now, Not(Contains(before[2])));
}

TEST_F(EventsOfOneModel, RefuseWhatIsNoEvent) {
  const auto refused = [&](const std::string& request) {
    const Fault fault = fault_of(ask(service_, "events", request));
    EXPECT_EQ(fault.kind(), FaultKind::kInvalidArgument) << fault.what();
    return fault.parameter() + ": " + fault.what();
  };
  EXPECT_EQ(refused(R"({"user": "a"})"), "item: an event needs an item");
  EXPECT_THAT(refused(R"({"user": "a", "item": "b", "value": 1e9})"), HasSubstr("at most"));
  EXPECT_EQ(refused(R"({"events": [{"user": "a", "item": "b", "value": -1e-300}]})"),
            "events[0]: value -1e-300 is too close to 0 for a number of 32 bits");
  EXPECT_THAT(refused(R"({"user": "a", "item": "b", "time": 1700000000000})"),
              HasSubstr("not milliseconds"));
  EXPECT_THAT(refused(R"({"events": [{"user": "a", "item": "b"}, {"user": "", "item": "b"}]})"),
              HasSubstr("events[1].user: events[1].user is empty"));
  EXPECT_EQ(refused(R"({"user": "a", "item": ""})"), "item: item is empty");
  EXPECT_EQ(refused(R"({"user": "a", "item": "b", "key": ""})"), "key: key is empty");
  EXPECT_THAT(refused(R"({"events": [{"user": "a", "item": "b"}], "item": "b"})"),
              HasSubstr("nothing"));
  EXPECT_EQ(live_.store().count(), 0);
}

TEST_F(EventsOfOneModel, TheirDocumentSaysHowLongIdsMayBe) {
  for (const Operation& operation : service_.operations()) {
    if (operation.name != "events") continue;
    for (const char* member : {"user", "item", "key"}) {
      const Json& schema = operation.parameters["properties"][member];
      EXPECT_EQ(schema["maxLength"], kLongestId) << member;
      EXPECT_THAT(schema["description"].get<std::string>(), HasSubstr("At most 256 bytes"));
      Json event{{"user", "a"}, {"item", "b"}};
      event[member] = std::string(kLongestId, 'x');
      EXPECT_EQ(answer_of(ask(service_, "events", event.dump()))["accepted"], 1) << member;
      event[member] = std::string(kLongestId + 1, 'x');
      EXPECT_EQ(fault_of(ask(service_, "events", event.dump())).kind(), FaultKind::kTooLarge);
    }
  }
}

TEST(EventOperations, SeveralRequestsAreStoredTogetherAndAnsweredAlone) {
  const likewise::test::TemporaryFolder folder;
  Live live(open_event_store(folder / "events"));
  Service service;
  service.use_events(live);
  const Json requests[] = {Json::parse(R"({"user": "a", "item": "b", "key": "k"})"),
                           Json::parse(R"({"user": "a"})"),
                           Json::parse(R"({"user": "a", "item": "b", "key": "k"})")};
  const Json* all[] = {&requests[0], &requests[1], &requests[2]};
  for (const Operation& operation : service.operations()) {
    if (operation.name != "events") continue;
    const std::vector<Outcome> outcomes = answer_checked(service, operation, all);
    EXPECT_EQ(answer_of(outcomes[0])["repeated"], 0);
    EXPECT_EQ(fault_of(outcomes[1]).kind(), FaultKind::kInvalidArgument);
    EXPECT_EQ(answer_of(outcomes[2])["repeated"], 1);
  }
}

TEST(EventOperations, AServerWithoutEventsSaysSo) {
  Service service;
  service.serve(likewise::test::served());
  const Fault fault = fault_of(ask(service, "events", R"({"user": "a", "item": "b"})"));
  EXPECT_EQ(fault.kind(), FaultKind::kUnavailable);
  EXPECT_STREQ(fault.what(), "this server keeps no events");
  EXPECT_FALSE(answer_of(ask(service, "user", R"({"user": "u105"})"))["history"].empty());
}

}  // namespace
}  // namespace likewise::server
