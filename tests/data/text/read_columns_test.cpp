// SPDX-License-Identifier: Apache-2.0
/// Values are found, asked about or missing; never made up and never dropped.
#include <fmt/format.h>

#include "tests/data/text/read_support.h"

namespace likewise::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const ReadOptions kRatings{.values = Values::kRequired};

TEST(ReadValues, AColumnOfNumbersWithoutAKnownNameIsAskedAbout) {
  for (const std::string header :
       {"user_id,item_id,my_rating", "USER_ID,Item-ID,my_rating",
        "\"user_id\",\"item_id\",\"my_rating\"", "\xef\xbb\xbfuser_id,item_id,my_rating"}) {
    for (const Values values : {Values::kOptional, Values::kRequired}) {
      EXPECT_THAT(bad_option(header + "\n1,10,3.5\n2,10,1\n", {.values = values}),
                  AllOf(HasSubstr("column 3 (my_rating) holds the values"),
                        HasSubstr("the columns are"), HasSubstr(",my_rating")));
    }
  }
  EXPECT_THAT(
      bad_option("user,item,note,points,time\n1,2,x,5,9\n", {}),
      AllOf(HasSubstr("columns user,item,points,time, or say with columns user,item,-,time")));
  EXPECT_THAT(bad_option("points,user,item\n5,1,2\n", {}), HasSubstr("columns user,item,points"));
  EXPECT_THAT(bad_option("user,item,my points\n1,2,5\n", {}), HasSubstr("columns user,item,3"));
  EXPECT_THAT(bad_option("user;item;note\n1;2;3,5\n", {}), HasSubstr("column 3 (note)"));
  // Some cells may hold something else.
  EXPECT_THAT(bad_option("user,item,points\n1,2,\n1,3,n/a\n2,3,4\n2,4,5\n", {}),
              HasSubstr("column 3 (points)"));
}

TEST(ReadValues, TheRemedyWorks) {
  const std::string text = "user,item,points,time\n1,2,5,9\n";
  EXPECT_EQ(cells(read_text(text, {.columns = {"user", "item", "points", "time"}})),
            (Cells{{{"1", "2"}, 5.0F}}));
  EXPECT_EQ(cells(read_text(text, {.columns = {"user", "item", "-", "time"}})),
            (Cells{{{"1", "2"}, 1.0F}}));
  EXPECT_EQ(cells(read_text(text, {.values = Values::kUnused})), (Cells{{{"1", "2"}, 1.0F}}));
}

TEST(ReadValues, OtherColumnsMayBeThere) {
  const Cells one{{{"1", "2"}, 1.0F}};
  EXPECT_EQ(cells(read_text("user,item,genre\n1,2,drama\n")), one);
  EXPECT_THAT(bad_option("user,item,event\n1,2,view\n", {}),
              HasSubstr("column 3 (event) holds words, 'view': say what each counts"));
  EXPECT_EQ(cells(read_text("user,item,timestamp\n1,2,978300760\n")), one);
  EXPECT_EQ(cells(read_text(",user,item\n0,1,2\n")), one);  // pandas numbers its rows
  EXPECT_EQ(cells(read_text("user,item,rating,helpful\n1,2,1,7\n", kRatings)), one);
  EXPECT_EQ(cells(read_text("user,item,Listen Count\n1,2,1\n", kRatings)), one);
}

TEST(ReadValues, RatingsHaveToBeThere) {
  EXPECT_THAT(bad_option("1,2\n3,4\n", kRatings), AllOf(HasSubstr("file.csv: values are needed"),
                                                        HasSubstr("its rows have 2 columns")));
  EXPECT_THAT(bad_option("user,item,timestamp\n1,2,978300760\n", kRatings),
              AllOf(HasSubstr("the columns are user, item, timestamp"), HasSubstr("columns")));
  EXPECT_THAT(bad_option("user,item,genre\n1,2,drama\n", kRatings), HasSubstr("values are needed"));
  EXPECT_THAT(bad_option("user,item,event\n1,2,view\n", kRatings),
              HasSubstr("holds words, 'view'"));
  EXPECT_THAT(bad_option("user,item,rating\n1,2,5\n",
                         {.columns = {"user", "item"}, .values = Values::kRequired}),
              HasSubstr("values are needed"));
  EXPECT_THAT(
      bad_option("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n", kRatings),
      HasSubstr("'pattern'"));
  EXPECT_EQ(read_text("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 4\n", kRatings)
                .by_user.nnz(),
            1);
  EXPECT_EQ(cells(read_text("1,2,5\n", kRatings)), (Cells{{{"1", "2"}, 5.0F}}));
}

TEST(ReadValues, TimesInThirdPlaceAreNotTakenForValues) {
  for (const std::string time :
       {"978300760", "978300760123", "978300760123456", "978300760123456789"}) {
    EXPECT_THAT(bad_option("1,10," + time + "\n2,10," + time + "\n", {}),
                AllOf(HasSubstr("column 3 looks like times ('" + time),
                      HasSubstr("columns 1,2,-,3, or with columns 1,2,3 if")));
    EXPECT_THAT(bad_option("1,10," + time + ",4\n2,10," + time + ",5\n", {}),
                HasSubstr("columns 1,2,4,3, or with columns 1,2,3,4 if"));
  }
  const auto data = read_text("user,item,when\n1,10,978300760\n", {.keep_times = true});
  EXPECT_EQ(times(data).at({"1", "10"}), 978300760);
  EXPECT_EQ(cells(data), (Cells{{{"1", "10"}, 1.0F}}));
  EXPECT_EQ(cells(read_text("1,10,2000\n2,10,978300760\n")).size(), 2U);  // counts may be large
  EXPECT_EQ(read_text("1,10,978300760\n", {.columns = {"1", "2", "3"}}).by_user.values[0],
            978300760.0F);
}

TEST(ReadColumns, AHeaderThatNamesNeitherUsersNorItemsIsRefused) {
  for (const char* header : {"who,what,when", "thing,client,rating", "a,b"}) {
    EXPECT_THAT(bad_option(header + std::string("\n1,10,5\n"), {}),
                HasSubstr("cannot tell which columns hold users and items"))
        << header;
  }
}

TEST(ReadColumns, TwoColumnsOfOneRoleAreRefused) {
  EXPECT_THAT(bad_option("userId,movieId,item,rating\n1,10,5,3\n", {}),
              HasSubstr("cannot tell which column holds the items, column 2 (movieId) or column 3 "
                        "(item): choose with columns userId,movieId,rating or columns "
                        "userId,item,rating"));
  EXPECT_THAT(bad_option("user_id,userId,item\n1,10,5\n", {}),
              HasSubstr("holds the users, column 1 (user_id) or column 2 (userId)"));
  EXPECT_THAT(bad_option("user,item,rating,score\n1,10,5,3\n", {}),
              HasSubstr("with columns user,item,rating or columns user,item,score"));
  EXPECT_THAT(bad_option("user,item,rating,rating\n1,10,5,3\n", {}),
              HasSubstr("with columns user,item,3 or columns user,item,4"));
  EXPECT_THAT(bad_option("user,item,date,time\n1,10,2001-02-03,5\n", {}),
              HasSubstr("with columns user,item,-,date or columns user,item,-,time"));
  EXPECT_THAT(
      bad_option("user,item,event,action\na,b,view,click\n", {.word_values = {{"view", 1.0}}}),
      HasSubstr("holds the values, column 3 (event) or column 4 (action)"));
  EXPECT_THAT(bad_option("{\"user\": 1, \"item\": 2, \"movie\": 3}\n", {}),
              HasSubstr("holds the items, column 2 (item) or column 3 (movie)"));
}

TEST(ReadColumns, NothingIsRefusedWhereTheCallerNamedTheColumns) {
  const ReadOptions named{.columns = {"userId", "movieId", "rating"}};
  EXPECT_EQ(cells(read_text("userId,movieId,item,rating,score\n1,10,5,3,4\n", named)),
            (Cells{{{"1", "10"}, 3.0F}}));
  // Values that nobody reads are not asked about.
  const ReadOptions unused{.values = Values::kUnused};
  EXPECT_EQ(read_text("user,item,rating,score\n1,10,5,3\n", unused).by_user.nnz(), 1);
}

TEST(ReadColumns, WhatStandsBesideAnIdDoesNotMakeItAmbiguous) {
  const auto item_of = [](const char* header) {
    return read_text(header + std::string("\na,b,c,d\n"), {.values = Values::kUnused})
        .items.name(0);
  };
  EXPECT_EQ(item_of("user,title,movieId,x"), "c");
  EXPECT_EQ(item_of("user,artist_name,artist_id,x"), "c");
  EXPECT_EQ(item_of("user_id,asin,parent_asin,title"), "b");
  EXPECT_EQ(item_of("visitorid,event,itemid,session_id"), "c");
  EXPECT_EQ(item_of("userId,movieId,tag,username"), "b");
  EXPECT_EQ(item_of("userId,title,x,y"), "b");
  EXPECT_THAT(bad_option("userId,title,tag\n1,a,b\n", {.values = Values::kUnused}),
              HasSubstr("holds the items, column 2 (title) or column 3 (tag)"));
  const auto review = read_text(
      "{\"reviewerID\": \"a\", \"asin\": \"b\", \"overall\": 5, \"reviewTime\": \"09 13, 2009\", "
      "\"unixReviewTime\": 1252800000}\n",
      {.keep_times = true});
  EXPECT_EQ(times(review).at({"a", "b"}), 1252800000);
}

TEST(ReadFields, MoreThanTheHeaderHasIsABadRow) {
  EXPECT_THAT(bad_data("user,item,rating\n1,2,3\n1,3,4,5\n"),
              HasSubstr("file.csv:3: '1,3,4,5' has 4 columns (separated by ','), the header 3"));
  EXPECT_THAT(bad_data("user,item,rating\n1,2,3,\n"), HasSubstr("the header 3"));
  EXPECT_THAT(bad_data("user,item,rating,time\n1,2,3,4,5\n"), HasSubstr("the header 4"));
  EXPECT_THAT(bad_data("user;item;rating\n1;2;3;5\n"), HasSubstr("has 4 columns"));
  EXPECT_THAT(bad_data("user,item,rating,note\n1,2,3,so, so\n"), HasSubstr("has 5 columns"));
  EXPECT_THAT(bad_data("1,2,3\n1,3,4\n1,4,5,6\n"),
              HasSubstr("file.csv:3: '1,4,5,6' has 4 columns"));
  EXPECT_THAT(bad_data("1 2 3\n1 3 4\n1 4 5 6\n"), HasSubstr("most rows have 3"));
  EXPECT_THAT(bad_data("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 5 6\n"),
              HasSubstr("a row of this matrix 3"));
  EXPECT_EQ(read_text("user,item,rating,note\n1,2,3\n1,3,4,\"so, so\"\n").by_user.nnz(), 2);
  ReadSummary summary;
  EXPECT_EQ(
      read_text("user,item,rating\n1,2,3\n1,3,4,5\n", {.on_bad_row = BadRows::kSkip}, &summary)
          .by_user.nnz(),
      1);
  EXPECT_EQ(summary.bad_rows, 1);
}

}  // namespace
}  // namespace likewise::test
