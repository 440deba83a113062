// SPDX-License-Identifier: Apache-2.0
/// Files of features.
#include "likewise/features.h"

#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/support.h"

namespace likewise::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

using Tags = std::map<std::string, std::map<std::string, float>>;

FeatureTable table_of(const std::string& text, const FeatureOptions& options = {},
                      FeatureSummary* summary = nullptr, Side side = Side::kItems) {
  FeatureTable table = features_from_text(text, "f.csv", side, options, summary);
  validate(table.weights.view(), "features");
  EXPECT_EQ(table.weights.rows, table.ids.size());
  EXPECT_EQ(table.weights.cols, table.tags.size());
  return table;
}

Tags features_of(const std::string& text, const FeatureOptions& options = {},
                 FeatureSummary* summary = nullptr, Side side = Side::kItems) {
  const FeatureTable table = table_of(text, options, summary, side);
  Tags tags;
  for (Index row = 0; row < table.ids.size(); ++row) {
    for (Offset e = table.weights.offsets[row]; e < table.weights.offsets[row + 1]; ++e) {
      tags[table.ids.name(row)][table.tags.name(table.weights.columns[e])] =
          table.weights.values[e];
    }
  }
  return tags;
}

std::string features_refused(const std::string& text, ErrorKind kind = ErrorKind::kBadData,
                             const FeatureOptions& options = {}) {
  return error_of(kind, [&] { (void)features_of(text, options); });
}

TEST(ReadFeatures, NumbersAndNamesAreThoseOfTagsThatAreKnown) {
  std::string text = "id,age,country\n";
  for (int age = 20; age < 60; ++age)
    text += std::to_string(age) + "," + std::to_string(age) + ",PT\n";
  const FeatureTable learned = table_of(text);
  const FeatureOptions like_it{.known = &learned.tags};
  const Tags asked = features_of("id,age\na,31\nb,5\nc,99\n", like_it);
  EXPECT_THAT(asked.at("a"), ElementsAre(Pair("age=28..31", 1.0F)));
  EXPECT_THAT(asked.at("b"), ElementsAre(Pair("age=20..23", 1.0F)));
  EXPECT_THAT(asked.at("c"), ElementsAre(Pair("age=56..59", 1.0F)));
  EXPECT_THAT(features_of("id,country\na,PT\n", like_it).at("a"),
              ElementsAre(Pair("country=PT", 1.0F)));
  EXPECT_THAT(features_of("id,height\na,180\n", like_it).at("a"), ElementsAre(Pair("180", 1.0F)));
  // Of few different numbers each is a tag, however many come later.
  const FeatureTable few = table_of("id,stars,x\na,1,y\nb,2,y\n");
  std::string many = "id,stars\n";
  for (int i = 0; i < 30; ++i) many += std::to_string(i) + "," + std::to_string(i) + "\n";
  EXPECT_THAT(features_of(many, {.known = &few.tags}).at("2"), ElementsAre(Pair("stars=2", 1.0F)));
}

TEST(ReadFeatures, ColumnsThatAModelHasNoTagOfAreTold) {
  const FeatureTable learned = table_of("id,age,country\n1,20,PT\n2,30,GR\n");
  EXPECT_THAT(feature_columns(learned.tags), ElementsAre("age", "country"));
  const auto unknown = [&](const std::string& text) {
    return table_of(text, {.known = &learned.tags}).unknown_columns;
  };
  EXPECT_THAT(unknown("id,age,country\na,20,NO\n"), IsEmpty()) << "of a value nobody had";
  EXPECT_THAT(unknown("id,age,land\na,20,PT\n"), ElementsAre("land"));
  EXPECT_THAT(unknown("id,ages\na,20\n"), ElementsAre("ages"));
  EXPECT_THAT(unknown("id,Age,country\na,20,PT\nb,,GR\n"), ElementsAre("Age"));
  EXPECT_THAT(unknown("id,country,x\na,PT,\n"), IsEmpty()) << "x holds nothing";
  EXPECT_THAT(unknown("id,tag\na,country=PT\n"), IsEmpty()) << "tags with their columns' names";
  const FeatureTable of_one = table_of("id,genres\n1,a=b|c\n");
  EXPECT_THAT(feature_columns(of_one.tags), IsEmpty());
  EXPECT_THAT(table_of("id,kind\n9,c\n", {.known = &of_one.tags}).unknown_columns, IsEmpty());
}

const Tags kTwo{{"1", {{"Comedy", 1.0F}, {"Drama", 1.0F}}}, {"2", {{"Drama", 1.0F}}}};

TEST(ReadFeatures, TagsOfOneColumnKeepTheirNames) {
  EXPECT_EQ(features_of("movieId,genres\n2,Drama\n1,Drama|Comedy\n"), kTwo);
  EXPECT_EQ(features_of("genres;id\nDrama | Comedy;1\n\"Drama\";2\n"), kTwo);
  EXPECT_EQ(features_of("1\tDrama|Comedy\r\n2\tDrama\r\n"), kTwo);
  EXPECT_EQ(features_of("item,tag\n1,Comedy\n2,Drama\n1,Drama\n"), kTwo) << "one tag a row";
  EXPECT_EQ(features_of("1::A::Drama|Comedy\n2::B::Drama\n", {{"1", "3"}}), kTwo);
  EXPECT_EQ(features_of("userId,movieId,tag,timestamp\n9,1,Comedy,5\n9,1,Drama,6\n8,2,Drama,7\n"),
            kTwo)
      << "who and when are no tags";
}

TEST(ReadFeatures, TagsOfSeveralColumnsAreNamedByThem) {
  EXPECT_EQ(features_of("id,kind,colour\n1,a,red\n2,a,\n"),
            (Tags{{"1", {{"kind=a", 1.0F}, {"colour=red", 1.0F}}}, {"2", {{"kind=a", 1.0F}}}}));
  EXPECT_EQ(features_of("1,a,red\n2,a,b\n").at("1"),
            (std::map<std::string, float>{{"column 2=a", 1.0F}, {"column 3=red", 1.0F}}));
}

TEST(ReadFeatures, TheIdIsTheColumnOfThatNameWhereverItStands) {
  const Tags wanted{{"1", {{"a", 1.0F}}}, {"2", {{"b", 1.0F}}}};
  EXPECT_EQ(features_of("kind,item\na,1\nb,2\n"), wanted);
  EXPECT_EQ(features_of("user,kind,item\n7,a,1\n8,b,2\n"), wanted) << "other side's ids";
  EXPECT_EQ(features_of("kind,user\na,1\nb,2\n", {}, nullptr, Side::kUsers), wanted);
  EXPECT_EQ(features_of("item,kind,movieId\nx,a,1\ny,b,2\n").at("1"),
            (std::map<std::string, float>{{"item=x", 1.0F}, {"kind=a", 1.0F}}))
      << "a name with id comes first";
}

TEST(ReadFeatures, FieldsOfCsvMayHoldAnything) {
  const FeatureOptions csv{.is_csv = true};
  const Tags tags =
      features_of("\"item\",\"text\"\n\" 1 \",\"One line;\nand more\"\n\"2\",\"x\"\n", csv);
  EXPECT_EQ(tags.size(), 2U);
  EXPECT_TRUE(tags.contains(" 1 "));
}

TEST(ReadFeatures, WeightsAreNumbersFromZeroOn) {
  const Tags wanted{{"1", {{"7", 3.5F}, {"9", 2.0F}}}, {"2", {{"7", 1.0F}}}};
  EXPECT_EQ(features_of("goodreads_book_id,tag_id,count\n1,7,3\n1,9,2\n2,7,1\n2,9,0\n1,7,0.5\n"),
            wanted)
      << "repeated tags add up, 0 is none";
  EXPECT_EQ(features_of("1,seven,3\n2,seven,1\n").at("1"),
            (std::map<std::string, float>{{"seven", 3.0F}}));
  EXPECT_THAT(features_refused("id,tag,count\n1,7,3\n1,9,-2\n"),
              HasSubstr("f.csv:3: the weight '-2'"));
  EXPECT_THAT(features_refused("id,tag,count\n1,7,3\n1,9,much\n"),
              HasSubstr("f.csv:3: the weight 'much'"));
}

TEST(ReadFeatures, NumbersAreCutIntoParts) {
  std::string text = "id,year\n";
  for (int i = 0; i < 40; ++i) text += std::to_string(i) + "," + std::to_string(1960 + i) + "\n";
  FeatureSummary met;
  const Tags tags = features_of(text, {}, &met);
  std::map<std::string, int> sizes;
  for (const auto& [id, of_id] : tags) {
    ASSERT_EQ(of_id.size(), 1U);
    ++sizes[of_id.begin()->first];
  }
  EXPECT_EQ(sizes.size(), 10U);
  for (const auto& [name, size] : sizes) EXPECT_EQ(size, 4) << name;
  EXPECT_EQ(sizes.count("year=1960..1963"), 1U);
  EXPECT_EQ(sizes.count("year=1996..1999"), 1U);
  EXPECT_THAT(met.format, HasSubstr("id id, tags year (in 10 parts)"));
  EXPECT_EQ(features_of("id,age\n1,20\n2,30\n3,20.0\n").at("3"),
            (std::map<std::string, float>{{"20", 1.0F}}))
      << "few different numbers are tags as they are";
}

TEST(ReadFeatures, UsersHaveThem) {
  FeatureSummary met;
  const Tags tags = features_of("userId,gender,movieId\n5,F,1\n6,,2\n", {}, &met, Side::kUsers);
  EXPECT_EQ(tags, (Tags{{"5", {{"F", 1.0F}}}}));
  EXPECT_EQ(met.without_tags, 1);
}

TEST(ReadFeatures, IdsAreThoseOfInteractions) {
  EXPECT_TRUE(table_of("id,tag\n10,a\n9,b\n").ids.is_integer());
  EXPECT_EQ(table_of("id,tag\n10,a\n9,b\n").ids.name(0), "9");
  EXPECT_FALSE(table_of("id,tag\nx,a\n9,b\n").ids.is_integer());
}

TEST(ReadFeatures, QuotedCellsMayHoldLineEnds) {
  const Tags expected = {{"1", {{"a day\nat sea", 1.0F}, {"sea", 1.0F}}},
                         {"2", {{"a night\nin town", 1.0F}}}};
  for (const char* end : {"\n", "\r\n"}) {
    const std::string text =
        fmt::format("item,tags{0}1,\"a day\nat sea|sea\"{0}2,\"a night\nin town\"{0}", end);
    EXPECT_EQ(features_of(text), expected) << text;
  }
  const std::string semicolons = "item;tags\n1;\"a day\nat sea|sea\"\n2;\"a night\nin town\"\n";
  EXPECT_EQ(features_of(semicolons), expected);
  EXPECT_EQ(features_of("id,tag\n1,\"two\nlines\"\n2,x\n").at("1").begin()->first, "two\nlines");
  EXPECT_THAT(features_refused("item,tags\n1,\"a day\nat sea\n2,town\n"), HasSubstr("f.csv:2"));
}

TEST(ReadFeatures, RefuseWhatTheyCannotRead) {
  EXPECT_THAT(features_refused(""), HasSubstr("f.csv: is empty"));
  EXPECT_THAT(features_refused("id,tag\n1,\n2,\n"), HasSubstr("holds no tags"));
  EXPECT_THAT(features_refused("id,tag\n1,a\n,b\n"), HasSubstr("f.csv:3: the id is empty"));
  EXPECT_THAT(features_refused("id,tag\n1,a\n2,b,c\n"),
              HasSubstr("f.csv:3: '2,b,c' has 3 columns"));
  EXPECT_THAT(features_refused("id,tag\n1,\"a\" b\n"), HasSubstr("f.csv:2: a quoted field"));
  EXPECT_THAT(features_refused("id,tag\n1,a\n", ErrorKind::kInvalidArgument, {{"id", "genre"}}),
              HasSubstr("genre"));
  EXPECT_THAT(features_refused("id,tag\n1,a\n", ErrorKind::kInvalidArgument, {{"id"}}),
              HasSubstr("at least one column of tags"));
  EXPECT_THAT(features_refused("id,tag\n1,a\n", ErrorKind::kInvalidArgument, {{"id", "id"}}),
              HasSubstr("named twice"));
  EXPECT_THAT(features_refused(std::string("id,tag\n1,a\0b\n", 13)), HasSubstr("is not text"));
  EXPECT_THAT(features_refused("id,price\n1,2.5\n2,\n3,N/A\n4,7\n"),
              HasSubstr("f.csv:4: 'N/A' stands in price, whose other cells are numbers"));
  EXPECT_EQ(features_of("id,size\n1,40\n2,M\n3,-\n").size(), 3U) << "words among them";
  EXPECT_EQ(features_of("id,answer\n1,none\n2,?\n").size(), 2U) << "no numbers";
}

}  // namespace
}  // namespace likewise::test
