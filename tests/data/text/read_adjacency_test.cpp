// SPDX-License-Identifier: Apache-2.0
/// A user and its items on each line, and the pairs of a file in its order.
#include <fmt/format.h>

#include "tests/data/text/read_support.h"

namespace likewise::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const ReadOptions kLists{.format = Format::kAdjacency};

Interactions lists(const std::string& text, ReadSummary* summary = nullptr) {
  return read_text(text, {.format = Format::kAdjacency}, summary);
}

TEST(ReadAdjacency, EachLineIsAUserAndItsItems) {
  ReadSummary summary;
  const auto data = lists("0 3 1 2 \n1\n\n7\t3  9\r\n2 5", &summary);
  EXPECT_EQ(cells(data), (Cells{{{"0", "1"}, 1.0F},
                                {{"0", "2"}, 1.0F},
                                {{"0", "3"}, 1.0F},
                                {{"2", "5"}, 1.0F},
                                {{"7", "3"}, 1.0F},
                                {{"7", "9"}, 1.0F}}));
  EXPECT_TRUE(data.users.is_integer());
  EXPECT_FALSE(data.users.find(1));  // has no items
  EXPECT_EQ(summary.rows, 6);
  EXPECT_EQ(summary.bad_rows, 0);
  EXPECT_THAT(summary.format, HasSubstr("adjacency"));
  EXPECT_EQ(summary.columns[2], "");
}

TEST(ReadAdjacency, ItemsThatComeTwiceAreDuplicates) {
  const std::string text = "a x y x\nb x\na y z\n";
  ReadSummary summary;
  EXPECT_EQ(cells(lists(text, &summary)).at({"a", "x"}), 2.0F);
  EXPECT_EQ(summary.rows, 6);
  EXPECT_EQ(summary.duplicates, 2);
  EXPECT_EQ(summary.policy, Duplicates::kSum);
  EXPECT_EQ(
      cells(read_text(text, {.format = Format::kAdjacency, .duplicates = Duplicates::kMax})),
      (Cells{{{"a", "x"}, 1.0F}, {{"a", "y"}, 1.0F}, {{"a", "z"}, 1.0F}, {{"b", "x"}, 1.0F}}));
  EXPECT_THAT(bad_data(text, {.format = Format::kAdjacency, .duplicates = Duplicates::kError}),
              HasSubstr("several rows hold user 'a' and item 'x'"));
  EXPECT_EQ(read_text(text, {.format = Format::kAdjacency, .min_user_count = 2}).users.size(), 1);
}

TEST(ReadAdjacency, AnyBlockSizeAndAnyWidthGivesTheSame) {
  std::string text;
  std::string table;
  for (int user = 0; user < 60; ++user) {
    text += std::to_string(user);
    for (int i = 0; i < user * 7 % 40; ++i) {
      text += fmt::format(" {}", i * 3);
      table += fmt::format("{},{}\n", user, i * 3);
    }
    text += '\n';
  }
  const auto whole = read_text(table);
  for (const std::size_t bytes : {1, 7, 61, 100'000}) {
    expect_same(read_text(text, kLists, nullptr, tiny_blocks(bytes)), whole);
  }
}

TEST(ReadAdjacency, OtherDelimitersAndBadLines) {
  const ReadOptions commas{.format = Format::kAdjacency, .delimiter = ","};
  EXPECT_EQ(read_text("ann,tea,\"milk, hot\"\n", commas).by_user.nnz(), 2);
  EXPECT_THAT(bad_data("ann,tea\nbob,,milk\n", commas),
              AllOf(HasSubstr("file.csv:2: an item id is empty"), HasSubstr("on_bad_row")));
  EXPECT_THAT(bad_data("ann,tea\n,milk\n", commas), HasSubstr("file.csv:2: a user id is empty"));
  ReadSummary summary;
  const auto data = read_text(
      "ann,tea\nbob,rum,,milk\n",
      {.format = Format::kAdjacency, .delimiter = ",", .on_bad_row = BadRows::kSkip}, &summary);
  EXPECT_EQ(cells(data), (Cells{{{"ann", "tea"}, 1.0F}}));  // nothing of a bad line
  EXPECT_EQ(data.items.size(), 1);
  EXPECT_EQ(summary.bad_rows, 1);
}

TEST(ReadAdjacency, WhatItCannotHaveIsRefused) {
  const std::string text = "1 2 3\n";
  const auto refused = [&](ReadOptions options) {
    options.format = Format::kAdjacency;
    return bad_option(text, options);
  };
  EXPECT_THAT(refused({.columns = {"1", "2"}}), HasSubstr("columns"));
  EXPECT_THAT(refused({.header = Header::kYes}), HasSubstr("header"));
  EXPECT_THAT(refused({.values = Values::kRequired}), HasSubstr("values are needed"));
  EXPECT_THAT(bad_option("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n", kLists),
              HasSubstr("Matrix Market"));
  EXPECT_THAT(bad_data("1\n2\n", kLists), HasSubstr("users without items"));
  EXPECT_THAT(bad_data("1,2\n2,3\n", kLists), HasSubstr("separated by spaces"));
  EXPECT_THAT(bad_data("user items\n1 2 3\n", kLists),
              AllOf(HasSubstr("file.csv:1"), HasSubstr("looks like a header")));
  EXPECT_EQ(read_text("user items\n1 2 3\n", {.format = Format::kAdjacency, .header = Header::kNo})
                .by_user.nnz(),
            3);
  EXPECT_THAT(bad_data("", kLists), HasSubstr("is empty"));
}

TEST(ReadAdjacency, AUserMayHaveAnyNumberOfItems) {
  std::string text = "1 7\n2";
  for (int i = 0; i < 3000; ++i) text += fmt::format(" {}", i);
  text += "\n3 8\n";
  const ReadTuning tiny{.block_bytes = 64, .max_line_bytes = 256, .head_bytes = 512};
  EXPECT_EQ(read_text(text, kLists, nullptr, tiny).by_user.nnz(), 3002);
  EXPECT_EQ(read_text(text.substr(4), kLists, nullptr, tiny).by_user.nnz(), 3001);
  // As many as the memory has room for.
  ReadTuning poor = tiny;
  poor.pages = [] { return std::uint64_t{16} * 1000; };
  EXPECT_THAT(bad_data(text, kLists, poor),
              HasSubstr("file.csv:2: the line is longer than 1000 bytes, more than fit into"));
}

Pairs pairs_of(const std::string& text, const ReadOptions& options = {},
               ReadSummary* summary = nullptr, const ReadTuning& tuning = {}) {
  return read_pairs_of(memory_source(text), "file.csv", options, summary, {}, tuning);
}

std::vector<std::string> named(const Pairs& pairs) {
  std::vector<std::string> names;
  for (Offset p = 0; p < pairs.user_of.size(); ++p) {
    names.push_back(pairs.users.name(pairs.user_of[p]) + "-" + pairs.items.name(pairs.item_of[p]));
  }
  return names;
}

TEST(ReadPairs, KeepTheOrderOfTheFileAndRepeats) {
  const std::vector<std::string> wanted{"b-9", "a-3", "b-9", "a-1"};
  for (const std::size_t bytes : {1, 9, 1000}) {
    EXPECT_EQ(named(pairs_of("b,9,5\na,3,1\nb,9,2\na,1,4\n", {}, nullptr, tiny_blocks(bytes))),
              wanted);
  }
  EXPECT_EQ(named(pairs_of("b 9\na 3\nb 9\na 1\n", kLists)), wanted);
  EXPECT_EQ(named(pairs_of("b 9\na 3\nb 9\na 1\n")), wanted);
  EXPECT_EQ(named(pairs_of("2 2 12\n1 1 1\n")),
            (std::vector<std::string>{"2-2", "1-1"}));  // no counts: nothing agrees
  std::string counted = "7 3 21\n";
  for (int i = 20; i >= 0; --i) counted += fmt::format("{} {} 1\n", i % 7, i / 7);
  EXPECT_EQ(named(pairs_of(counted)).size(), 21U);
  EXPECT_EQ(named(pairs_of(counted)).front(), "6-2");
}

TEST(ReadPairs, RefuseWhatTheyHaveNoUseFor) {
  for (const ReadOptions& options :
       {ReadOptions{.duplicates = Duplicates::kSum}, ReadOptions{.min_value = 1.0},
        ReadOptions{.min_user_count = 2}, ReadOptions{.min_item_count = 2},
        ReadOptions{.keep_times = true}}) {
    EXPECT_THAT(error_of(ErrorKind::kInvalidArgument, [&] { (void)pairs_of("1,2\n", options); }),
                HasSubstr("would do nothing"));
  }
  ReadSummary summary;
  EXPECT_EQ(named(pairs_of("1,2\n,3\n1,2\n", {.on_bad_row = BadRows::kSkip}, &summary)).size(), 2U);
  EXPECT_EQ(summary.bad_rows, 1);
}

}  // namespace
}  // namespace likewise::test
