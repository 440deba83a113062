// SPDX-License-Identifier: Apache-2.0
/// Duplicates and filters.
#include <fmt/format.h>

#include "tests/data/text/read_support.h"

namespace likewise::test {
namespace {

using testing::HasSubstr;

const std::string kTwice =
    "user,item,rating,time\n1,a,2,50\n2,a,1,7\n1,a,5,90\n1,b,4,8\n1,a,3,60\n";

float merged(Duplicates policy) {
  ReadSummary summary;
  const auto data = read_text(kTwice, {.duplicates = policy}, &summary);
  EXPECT_EQ(summary.duplicates, 2);
  EXPECT_EQ(summary.rows, 5);
  return cells(data).at({"1", "a"});
}

TEST(ReadDuplicates, FollowThePolicy) {
  EXPECT_EQ(merged(Duplicates::kSum), 10.0F);
  EXPECT_EQ(merged(Duplicates::kLast), 3.0F);
  EXPECT_EQ(merged(Duplicates::kMax), 5.0F);
  EXPECT_EQ(merged(Duplicates::kAuto), 5.0F);  // there are values and times
  EXPECT_EQ(merged(Duplicates::kNewest), 5.0F);
  EXPECT_EQ(merged(Duplicates::kMean), static_cast<float>(10.0 / 3));
  EXPECT_EQ(merged(Duplicates::kFirst), 2.0F);
  EXPECT_EQ(merged(Duplicates::kCount), 3.0F);
  EXPECT_THAT(bad_data(kTwice, {.duplicates = Duplicates::kError}),
              HasSubstr("file.csv: several rows hold user '1' and item 'a'"));
}

TEST(ReadDuplicates, KeepTheTimeThatBelongsToTheValue) {
  const auto time = [](Duplicates policy) {
    return times(read_text(kTwice, {.duplicates = policy, .keep_times = true})).at({"1", "a"});
  };
  EXPECT_EQ(time(Duplicates::kLast), 60);
  EXPECT_EQ(time(Duplicates::kSum), 90);
  EXPECT_EQ(time(Duplicates::kMax), 90);
  EXPECT_EQ(time(Duplicates::kNewest), 90);
  EXPECT_EQ(time(Duplicates::kFirst), 50);
}

TEST(ReadDuplicates, AreCountedWithoutValues) {
  EXPECT_EQ(cells(read_text("user,item\n1,a\n1,a\n2,a\n1,a\n")),
            (Cells{{{"1", "a"}, 3.0F}, {{"2", "a"}, 1.0F}}));
}

TEST(ReadDuplicates, MaxKeepsNegatives) {
  EXPECT_EQ(cells(read_text("1,2,-5\n1,2,-3\n", {.duplicates = Duplicates::kMax})),
            (Cells{{{"1", "2"}, -3.0F}}));
}

TEST(ReadDuplicates, SumThatOverflowsIsAnError) {
  EXPECT_THAT(bad_data("1,2,3e38\n1,2,3e38\n", {.duplicates = Duplicates::kSum}),
              HasSubstr("the sum of the values of user '1' and item '2' is too large"));
}

TEST(ReadFilters, MinValueIsOfTheMergedValue) {
  ReadSummary summary;
  const auto data =
      read_text("1,10,5\n1,20,4\n2,10,3\n3,30,5\n3,30,1\n", {.min_value = 4.0}, &summary);
  EXPECT_EQ(cells(data), (Cells{{{"1", "10"}, 5.0F}, {{"1", "20"}, 4.0F}}));
  EXPECT_EQ(summary.below_min_value, 2);
  EXPECT_EQ(data.users.size(), 1);  // users 2 and 3 have nothing left
  EXPECT_EQ(data.items.size(), 2);
  EXPECT_THAT(bad_option("1,2,3\n", {.min_value = 4.0}),
              HasSubstr("no interactions are left: lower min_value"));
  EXPECT_THAT(bad_option("1,2,3\n", {.min_value = std::nan("")}),
              HasSubstr("min_value must be a finite number"));
}

TEST(ReadFilters, CountsAreRepeatedUntilStable) {
  // d has one item; without d item 4 has one user; without 4, c has one item; a and b stay.
  const std::string text = "a,1\na,2\nb,1\nb,2\nc,2\nc,4\nd,4\n";
  ReadSummary summary;
  const auto data = read_text(text, {.min_user_count = 2, .min_item_count = 2}, &summary);
  EXPECT_EQ(
      cells(data),
      (Cells{{{"a", "1"}, 1.0F}, {{"a", "2"}, 1.0F}, {{"b", "1"}, 1.0F}, {{"b", "2"}, 1.0F}}));
  EXPECT_EQ(summary.below_min_count, 3);
  EXPECT_FALSE(data.users.is_integer());
  EXPECT_TRUE(data.items.is_integer());
  EXPECT_EQ(read_text(text, {.min_user_count = 2}).users.size(), 3);
  EXPECT_EQ(read_text(text, {.min_item_count = 2}).items.size(), 3);
  EXPECT_THAT(bad_option(text, {.min_user_count = 9}), HasSubstr("no interactions are left"));
  EXPECT_THAT(bad_option(text, {.min_user_count = -1}),
              HasSubstr("min_user_count must be at least 0"));
  EXPECT_THAT(bad_option(text, {.min_item_count = -1}),
              HasSubstr("min_item_count must be at least 0"));
}

TEST(ReadFilters, ALongChainFallsAtOnce) {
  // u0-i0-u1-i1-...: only the end has one neighbour, and takes the whole chain with it.
  std::string text;
  constexpr int kLinks = 20000;
  for (int i = 0; i < kLinks; ++i) text += fmt::format("{},{}\n{},{}\n", i, i, i + 1, i);
  text += fmt::format("{0},x\n{0},y\n{1},x\n{1},y\n", kLinks + 5, kLinks + 6);
  const auto data = read_text(text, {.min_user_count = 2, .min_item_count = 2});
  EXPECT_EQ(data.by_user.nnz(), 4);
}

TEST(ReadFilters, KeepTimesBeside) {
  const auto data = read_text("user,item,rating,time\n1,a,5,10\n1,b,1,20\n2,a,5,30\n",
                              {.min_value = 2.0, .keep_times = true});
  EXPECT_EQ(times(data).at({"1", "a"}), 10);
  EXPECT_EQ(times(data).at({"2", "a"}), 30);
}

}  // namespace
}  // namespace likewise::test
