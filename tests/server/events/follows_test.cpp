// SPDX-License-Identifier: Apache-2.0
#include "server/events/follows.h"

#include <string>

#include <gtest/gtest.h>

namespace likewise::server {
namespace {

TEST(Follows, CountOnceWhatWasOfferedToTheUser) {
  Follows follows(2);
  follows.offer(0, "ann", "a");
  follows.offer(0, "ann", "b");
  follows.offer(1, "bob", "a");
  follows.offer(1, "bob", "a");
  follows.event("ann", "a");
  follows.event("ann", "a");
  follows.event("ann", "c");
  follows.event("cy", "a");
  follows.event("bob", "a");
  EXPECT_EQ(follows.count(0).offered, 2);
  EXPECT_EQ(follows.count(0).followed, 1);
  EXPECT_EQ(follows.count(1).offered, 2);
  EXPECT_EQ(follows.count(1).followed, 1);
}

TEST(Follows, AListThatIsAskedForAgainIsTheSameOffer) {
  Follows follows(1);
  follows.offer(0, "ann", "a");
  const Microseconds then = now() + 10 * kPerSecond;
  follows.offer(0, "ann", "a");
  follows.event("ann", "a", then);
  EXPECT_EQ(follows.count(0).followed, 1);
  follows.event("ann", "a", then);
  EXPECT_EQ(follows.count(0).followed, 1);
  // The clock of who sends events may be a little behind.
  follows.offer(0, "ann", "b");
  follows.event("ann", "b", now() - 3 * kPerSecond);
  EXPECT_EQ(follows.count(0).followed, 2);
}

TEST(Follows, CountByTheTimeOfTheEvent) {
  Follows follows(1);
  const Microseconds day = 24 * 3600 * kPerSecond;
  const Microseconds start = now();
  follows.offer(0, "ann", "a");
  follows.event("ann", "a", 0);
  follows.event("ann", "a", start - 60 * kPerSecond);
  EXPECT_EQ(follows.count(0).followed, 0);
  follows.event("ann", "a", now());  // the offer still waits for one
  EXPECT_EQ(follows.count(0).followed, 1);
  follows.offer(0, "ann", "b");
  follows.event("ann", "b", now() + day + kPerSecond);
  follows.event("ann", "b", now());
  EXPECT_EQ(follows.count(0).followed, 1);
}

TEST(Follows, RemembersTheLastHundredsOfThousands) {
  Follows follows(1);
  constexpr int kOffers = 200'000;
  for (int i = 0; i < kOffers; ++i) follows.offer(0, std::to_string(i % 1000), std::to_string(i));
  for (int i = 0; i < kOffers; ++i) follows.event(std::to_string(i % 1000), std::to_string(i));
  EXPECT_GT(follows.count(0).followed, kOffers * 99 / 100);
}

}  // namespace
}  // namespace likewise::server
