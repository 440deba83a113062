// SPDX-License-Identifier: Apache-2.0
#include "server/events/split.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/errors.h"

namespace likewise::server {
namespace {

TEST(Split, SharesAreKeptAndUsersStay) {
  const Split split({90, 10});
  const Split fewer({95, 5});
  int second = 0;
  for (int u = 0; u < 20'000; ++u) {
    const std::string user = std::to_string(u);
    const std::size_t model = split.model_of(user);
    second += model == 1 ? 1 : 0;
    if (model == 0) {
      EXPECT_EQ(fewer.model_of(user), 0U) << user;  // only a share's change moves one
    }
  }
  EXPECT_NEAR(second, 2000, 170);  // four standard deviations
  EXPECT_DOUBLE_EQ(split.share(0), 0.9);
  EXPECT_DOUBLE_EQ(split.share(1), 0.1);
}

/// Other programs and later versions have to send a user to the same model.
TEST(Split, IsTheSameForEver) {
  const Split split({1, 1, 1, 1});
  std::string models;
  for (const char* user : {"1", "2", "3", "ann", "bob", "cy", "", "196"}) {
    models += std::to_string(split.model_of(user));
  }
  EXPECT_EQ(models, "11221131");
}

TEST(Split, RefusesSharesThatAreNone) {
  EXPECT_THAT(likewise::test::error_of(ErrorKind::kInvalidArgument,
                                       [] {
                                         static_cast<void>(Split({1, 0}));
                                       }),
              testing::HasSubstr("a share must be above 0, not 0"));
}

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

TEST(Follows, RemembersTheLastHundredsOfThousands) {
  Follows follows(1);
  constexpr int kOffers = 200'000;
  for (int i = 0; i < kOffers; ++i) follows.offer(0, std::to_string(i % 1000), std::to_string(i));
  for (int i = 0; i < kOffers; ++i) follows.event(std::to_string(i % 1000), std::to_string(i));
  EXPECT_GT(follows.count(0).followed, kOffers * 99 / 100);
}

}  // namespace
}  // namespace likewise::server
