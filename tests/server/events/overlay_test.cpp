// SPDX-License-Identifier: Apache-2.0
#include "server/events/overlay.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace likewise::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

[[nodiscard]] StoredEvent stored(Position position, std::string user, std::string item) {
  return {position, {std::move(user), std::move(item), {}, position, {}}};
}

[[nodiscard]] std::vector<StoredEvent> nothing(const std::string&) { return {}; }

[[nodiscard]] std::vector<Position> positions(Overlay& overlay, const std::string& user) {
  std::vector<Position> all;
  for (const StoredEvent& one : overlay.find(user).events) all.push_back(one.position);
  return all;
}

TEST(Overlay, KeepsTheOrderOfPositionsAndEachOnce) {
  Overlay overlay(1000, nothing);
  for (const Position p : {3, 1, 2, 3, 1}) overlay.add(stored(p, "ann", "a"));
  EXPECT_THAT(positions(overlay, "ann"), ElementsAre(1, 2, 3));
  EXPECT_THAT(positions(overlay, "bob"), IsEmpty());
}

TEST(Overlay, ForgetsWhatIsLearned) {
  Overlay overlay(1000, nothing);
  for (const Position p : {1, 2, 3}) overlay.add(stored(p, "ann", "a"));
  overlay.add(stored(2, "bob", "b"));
  overlay.forget(2);
  EXPECT_THAT(positions(overlay, "ann"), ElementsAre(3));
  EXPECT_EQ(overlay.size(), 2);  // ann and the event
  overlay.add(stored(1, "ann", "a"));
  EXPECT_THAT(positions(overlay, "ann"), ElementsAre(3));
  overlay.rewind(0);
  overlay.add(stored(1, "ann", "a"));
  EXPECT_THAT(positions(overlay, "ann"), ElementsAre(1, 3));
}

TEST(Overlay, AnErasedUserHasWhatCameAfterHoweverMuchIsLearned) {
  Overlay overlay(1000, nothing);
  overlay.add(stored(1, "ann", "a"));
  overlay.erase({2, "ann", 7});
  overlay.add(stored(1, "ann", "a"));  // read late
  overlay.add(stored(3, "ann", "b"));
  overlay.forget(3);
  EXPECT_THAT(positions(overlay, "ann"), ElementsAre(3));
  EXPECT_EQ(overlay.find("ann").erased, 2);
  EXPECT_EQ(overlay.find("ann").erased_at, 7);
  EXPECT_EQ(overlay.find("bob").erased, 0);
}

/// However many users there are, memory is bounded and nobody's events are lost.
TEST(Overlay, WhatDoesNotFitIsReadFromTheStore) {
  constexpr Offset kMost = 64 * 14;  // two users of six events on each lock
  std::map<std::string, std::vector<StoredEvent>> store;
  int reads = 0;
  Overlay overlay(kMost, [&](const std::string& user) {
    ++reads;
    return store[user];
  });
  for (Position p = 1; p <= 3000; ++p) {
    StoredEvent event = stored(p, "user" + std::to_string(p % 500), "a");
    store[event.event.user].push_back(event);
    overlay.add(event);
    EXPECT_LE(overlay.size(), kMost);
  }
  for (int u = 0; u < 500; ++u) {
    const std::string user = "user" + std::to_string(u);
    EXPECT_EQ(overlay.find(user).events.size(), 6U) << user;
  }
  EXPECT_GT(reads, 100);
  const int before = reads;
  EXPECT_EQ(overlay.find("user499").events.size(), 6U);  // the last one asked for is kept
  EXPECT_EQ(reads, before);
  overlay.forget(3000);
  EXPECT_THAT(positions(overlay, "user7"), IsEmpty());
  EXPECT_EQ(reads, before);  // all is learned: there is nothing to be read
}

TEST(Overlay, OfOneUserTheNewestCount) {
  Overlay overlay(10'000'000, nothing);
  const auto most = static_cast<Position>(Overlay::kMostOfUser);
  for (Position p = 1; p <= most + 5; ++p) overlay.add(stored(p, "robot", "a"));
  EXPECT_EQ(positions(overlay, "robot").size(), Overlay::kMostOfUser);
  EXPECT_EQ(positions(overlay, "robot").front(), 6);
}

}  // namespace
}  // namespace likewise::server
