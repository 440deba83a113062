// SPDX-License-Identifier: Apache-2.0
/// Text formats: delimiters, headers, columns, quotes, ids, values, times.
#include "likewise/read.h"

#include <fmt/format.h>

#include "tests/data/text/read_support.h"

namespace likewise::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Cells kSmall{{{"1", "10"}, 3.5F}, {{"1", "20"}, 4.0F}, {{"2", "10"}, 1.0F}};

TEST(ReadText, FindsEveryDelimiter) {
  for (const std::string d : {",", "\t", ";", "|", "::", " ", "  ", " \t"}) {
    const std::string text =
        "1" + d + "10" + d + "3.5\n1" + d + "20" + d + "4\n2" + d + "10" + d + "1\n";
    EXPECT_EQ(cells(read_text(text)), kSmall) << "delimiter '" << d << "'";
  }
}

TEST(ReadText, TakesAGivenDelimiter) {
  EXPECT_EQ(cells(read_text("1_10_3.5\n1_20_4\n2_10_1\n", {.delimiter = "_"})), kSmall);
  EXPECT_EQ(cells(read_text("1\t10\t3.5\n1\t20\t4\n2\t10\t1\n", {.delimiter = "tab"})), kSmall);
  EXPECT_EQ(cells(read_text("1 10  3.5\n1 20 4\n2 10 1\n", {.delimiter = "space"})), kSmall);
  EXPECT_THAT(bad_option("1,2\n", {.delimiter = "abc"}), HasSubstr("delimiter 'abc'"));
  EXPECT_THAT(bad_option("1,2\n", {.delimiter = "\""}), HasSubstr("is not possible"));
}

TEST(ReadText, PrefersTheDelimiterThatFitsAllLines) {
  EXPECT_EQ(read_text("1,2,3,2020-01-01 10:00\n1,3,4,2020-01-02 11:00\n").by_user.nnz(), 2);
  EXPECT_EQ(cells(read_text("a b;x, y;2\na c;z;3\n")),
            (Cells{{{"a b", "x, y"}, 2.0F}, {{"a c", "z"}, 3.0F}}));
  EXPECT_EQ(cells(read_text("a b\tx y\t2\n")), (Cells{{{"a b", "x y"}, 2.0F}}));
  EXPECT_THAT(bad_data("alone\nlonely\n"), HasSubstr("found no delimiter"));
}

TEST(ReadText, IdsAreNoWholeNumbersWithFractions) {
  EXPECT_THAT(bad_data("user,item\n1.0,a\n2.00,b\n"),
              HasSubstr("all ids of column 1 (user) are whole numbers with a fraction, such as "
                        "'1.0': write them as whole numbers"));
  EXPECT_THAT(bad_data("user,item\nu,7.0\n"), HasSubstr("column 2 (item)"));
  EXPECT_EQ(read_text("user,item\n1.0,a\n2.5,b\n").users.name(0), "1.0");
  EXPECT_EQ(read_text("user,item\n1.,a\n").users.name(0), "1.");
  const std::string why =
      error_of(ErrorKind::kInvalidArgument, [] { (void)read_text("1,2\n", {.whole_ids = true}); });
  EXPECT_EQ(why, "whole_ids is an option of rows in memory");
}

TEST(ReadText, FindsHeadersAndWellKnownNames) {
  ReadSummary summary;
  for (const std::string header : {"userId,movieId,rating", "USER_ID,Item,Score",
                                   "user_id:token,item_id:token,rating:float"}) {
    EXPECT_EQ(cells(read_text(header + "\n1,10,3.5\n1,20,4\n2,10,1\n", {}, &summary)), kSmall)
        << header;
    EXPECT_EQ(summary.rows, 3);
    EXPECT_EQ(summary.format, "csv, header " + header);
  }
  EXPECT_EQ(cells(read_text("book_id,user_id,rating\n10,1,3.5\n20,1,4\n10,2,1\n")), kSmall);
  EXPECT_THAT(bad_option("x,y,z\n1,10,3.5\n1,20,4\n2,10,1\n", {}),  // a header: numbers below
              HasSubstr("cannot tell which columns hold users and items: the columns are x, y, z"));
  EXPECT_EQ(cells(read_text("x,y,z\n1,10,3.5\n1,20,4\n2,10,1\n", {.columns = {"x", "y", "z"}})),
            kSmall);
  EXPECT_EQ(cells(read_text("anna,heat,5\n")), (Cells{{{"anna", "heat"}, 5.0F}}));  // no header
  EXPECT_EQ(cells(read_text("user,item\nanna,heat\n")), (Cells{{{"anna", "heat"}, 1.0F}}));
}

TEST(ReadText, ObeysTheHeaderOption) {
  const Cells second{{{"c", "d"}, 1.0F}};
  EXPECT_EQ(cells(read_text("a,b\nc,d\n", {.columns = {"1", "2"}, .header = Header::kYes})),
            second);
  EXPECT_EQ(cells(read_text("1,2\nc,d\n", {.header = Header::kYes})), second);
  EXPECT_THAT(bad_option("a,b\nc,d\n", {.header = Header::kYes}),
              HasSubstr("cannot tell which columns hold users and items: the columns are a, b"));
  EXPECT_EQ(read_text("user,item\nc,d\n", {.header = Header::kNo}).users.size(), 2);
  EXPECT_THAT(bad_option("user,item\nc,d\n", {.columns = {"user", "item"}, .header = Header::kNo}),
              HasSubstr("need a header"));
}

TEST(ReadText, ChoosesColumnsByNameAndNumber) {
  const std::string text = "when,Film,stars,who\n5,heat,3,anna\n";
  const Cells expected{{{"anna", "heat"}, 3.0F}};
  EXPECT_EQ(cells(read_text(text, {.columns = {"who", "film", "stars"}})), expected);
  EXPECT_EQ(cells(read_text(text, {.columns = {"4", "2", "3"}, .header = Header::kYes})), expected);
  EXPECT_EQ(cells(read_text(text, {.columns = {"who", "Film"}})),
            (Cells{{{"anna", "heat"}, 1.0F}}));
  const auto timed = read_text(text, {.columns = {"who", "Film", "-", "when"}, .keep_times = true});
  EXPECT_EQ(times(timed).at({"anna", "heat"}), 5);
  EXPECT_EQ(cells(timed), (Cells{{{"anna", "heat"}, 1.0F}}));
}

TEST(ReadText, SaysWhichColumnsThereAre) {
  const std::string text = "who,film,stars\nanna,heat,3\n";
  EXPECT_THAT(bad_option(text, {.columns = {"who", "movie"}}),
              HasSubstr("file.csv: there is no column 'movie': the columns are who, film, stars"));
  EXPECT_THAT(bad_option(text, {.columns = {"who", "7"}}),
              HasSubstr("no column 7: the first row has 3"));
  EXPECT_THAT(bad_option(text, {.columns = {"who", "0"}}), HasSubstr("no column 0"));
  EXPECT_THAT(bad_option(text, {.columns = {"who", "who"}}), HasSubstr("named twice"));
  EXPECT_THAT(bad_option(text, {.columns = {"who"}}), HasSubstr("2 to 4 columns"));
  EXPECT_THAT(bad_option(text, {.columns = {"", "film"}}), HasSubstr("must name the user column"));
  EXPECT_THAT(bad_option("user,stuff\na,b\n", {}),
              HasSubstr("which column holds the items: the columns are user, stuff"));
}

TEST(ReadText, ReadsQuotedFields) {
  EXPECT_EQ(cells(read_text("user,item,value\n\"a, b\",\"say \"\"hi\"\"\",2\nc,\"\"\"\",3\n")),
            (Cells{{{"a, b", "say \"hi\""}, 2.0F}, {{"c", "\""}, 3.0F}}));
  EXPECT_EQ(cells(read_text("\"1\";\"10\";\"3.5\"\n1;20;4\n2;10;1\n")), kSmall);
  EXPECT_THAT(bad_data("a,b\nc,\"d\ne,f\n"), HasSubstr("file.csv:2: a quoted field does not end"));
  EXPECT_THAT(bad_data("a,b\nc,\"d\"e\n"), HasSubstr("file.csv:2: text follows a quoted field"));
  EXPECT_THAT(bad_data("a,b\n\"\",x\n"), HasSubstr("file.csv:2: the user id, column 1, is empty"));
}

TEST(ReadText, ReadsLineBreaksInQuotedFields) {
  const std::string text =
      "\"user_id\",item,value,\"no\nte\"\n\"a\nb\",\"c\r\n\n\"\"d\"\"\",2,x\r\n7,\"c\",3,\"\n\"\n"
      "\"\ne\",f,4,y";
  const Cells wanted{{{"a\nb", "c\r\n\n\"d\""}, 2.0F}, {{"7", "c"}, 3.0F}, {{"\ne", "f"}, 4.0F}};
  for (const std::size_t bytes : {1, 2, 3, 5, 8, 13, 1000}) {
    ReadSummary summary;
    EXPECT_EQ(cells(read_text(text, {}, &summary, tiny_blocks(bytes))), wanted) << bytes;
    EXPECT_EQ(summary.rows, 3);
  }
  // The first line of a bad row is named, and the rows after it are read.
  const std::string bad = "a,b,1\n\"c\nd\",e,x\nf,g,2\n";
  EXPECT_THAT(bad_data(bad), HasSubstr("file.csv:2: the value 'x'"));
  EXPECT_EQ(read_text(bad, {.on_bad_row = BadRows::kSkip}).by_user.nnz(), 2);
}

TEST(ReadText, AStrayQuoteIsABadLine) {
  // The next quote closes nothing, or comes too late; in plain fields quotes are letters.
  std::string text = "a,b,1\n\"c,d,2\ne,\"f\",3\n12\"g,h\",4\n\"i,j,5\n";
  for (int i = 0; i < 20'000; ++i) text += "k,l,6\n";
  text += "m\",n,7\n";
  for (const std::size_t bytes : {7, 100, 4000, 1'000'000}) {
    ReadSummary summary;
    const auto data = read_text(text, {.on_bad_row = BadRows::kSkip}, &summary, tiny_blocks(bytes));
    EXPECT_EQ(cells(data), (Cells{{{"a", "b"}, 1.0F},
                                  {{"e", "f"}, 3.0F},
                                  {{"12\"g", "h\""}, 4.0F},
                                  {{"k", "l"}, 6.0F},
                                  {{"m\"", "n"}, 7.0F}}))
        << bytes;
    EXPECT_EQ(summary.bad_rows, 2);
    EXPECT_THAT(summary.first_bad_row, HasSubstr("file.csv:2: a quoted field does not end"));
  }
}

TEST(ReadText, KeepsQuotesInsideTabSeparatedText) {
  EXPECT_EQ(
      cells(read_text("u\t\"Weird Al\" Yankovic\t2\nu\t\"q\"\t3\nu\t\"open\t4\n")),
      (Cells{{{"u", "\"Weird Al\" Yankovic"}, 2.0F}, {{"u", "q"}, 3.0F}, {{"u", "\"open"}, 4.0F}}));
}

TEST(ReadText, PassesOverWhatEditorsLeave) {
  EXPECT_EQ(
      cells(read_text("\xef\xbb\xbfuserId,movieId,rating\r\n1,10,3.5\r\n\r\n1,20,4\r\n  \n2,10,1")),
      kSmall);
  EXPECT_EQ(cells(read_text("\n\n1, 10 , 3.5\n1,20,4\n2,10, 1")), kSmall);
  EXPECT_EQ(cells(read_text("1,10,3.5,extra\n1,20,4\n2,10,1,\n", {.columns = {"1", "2", "3"}})),
            kSmall);
}

TEST(ReadText, IdsAreIntegersOrText) {
  const auto numbers = read_text("10,-3\n9,9223372036854775807\n");
  EXPECT_TRUE(numbers.users.is_integer());
  EXPECT_TRUE(numbers.items.is_integer());
  EXPECT_EQ(numbers.users.name(0), "9");
  for (const std::string odd : {"007", "9223372036854775808", "+1", "1.0", "-0", "x"}) {
    const auto mixed = read_text("10,1\n9,1\n" + odd + ",1\n", {.header = Header::kNo});
    EXPECT_FALSE(mixed.users.is_integer()) << odd;
    EXPECT_EQ(mixed.users.size(), 3);
    EXPECT_TRUE(mixed.users.find(odd).has_value()) << odd;
    EXPECT_LT(mixed.users.find("10"), mixed.users.find("9"));  // as text
    EXPECT_TRUE(mixed.items.is_integer());
  }
  const auto latin = read_text("Caf\xe9,1\nb,1\n");  // ISO 8859-1
  EXPECT_EQ(latin.users.name(0), "Caf\xe9");
}

TEST(ReadText, NamesTheBadValue) {
  for (const std::string bad :
       {"abc",    "nan",   "NaN",  "inf",   "+inf", "-inf",  "infinity", "1e400",
        "-1e400", "1,5",   "0x10", "0x1p3", "",     "--1",   "+-1",      "-+1",
        "++1",    "+",     "-",    ".",     "+.",   "1e",    "1e+",      "e5",
        "1_000",  "1 000", "1f",   "+ 1",   "1e39", "1e-50", "1e-400",   "-2e-46"}) {
    EXPECT_THAT(bad_data("1;2;3\n\n4;5;" + bad + "\n6;7;8\n"),
                HasSubstr("file.csv:3: the value '" + bad + "', column 3, is not a finite number"));
  }
  EXPECT_THAT(bad_data("user,item,plays\n1,2,x\n3,4,5\n"), HasSubstr("column 3 (plays)"));
  EXPECT_THAT(bad_data("user,item,plays\n1,2,x\n3,4,5\n"), HasSubstr("on_bad_row skip"));
  EXPECT_THAT(bad_data("user,item,plays\n1,2,?\n"), Not(HasSubstr("on_bad_row")));  // none is left
  EXPECT_THAT(bad_data("1,2,3\n4,5\n"), HasSubstr("file.csv:2: '4,5' has 2 of the 3 columns"));
  EXPECT_THAT(bad_data("1,2,3\n4,5,1e-50\n"), HasSubstr("not a finite number of 32 bits (0, or"));
  EXPECT_THAT(bad_data("1,2,3\n4,5,1e400\n"), HasSubstr("not a finite number of 32 bits (0, or"));
  EXPECT_THAT(bad_data("a,b,1e-50\nc,d,2\n"), HasSubstr("file.csv:1: the value '1e-50'"));
  EXPECT_EQ(cells(read_text("1,2,-0.00e-400\n")), (Cells{{{"1", "2"}, 0.0F}}));
  EXPECT_EQ(cells(read_text("1,2,1.5e-45\n")), (Cells{{{"1", "2"}, 1.5e-45F}}));
  EXPECT_EQ(cells(read_text("1,2,+1.5e1\n")), (Cells{{{"1", "2"}, 15.0F}}));
  EXPECT_EQ(cells(read_text("1,2,-2\n")), (Cells{{{"1", "2"}, -2.0F}}));
}

TEST(ReadText, WhatAHeaderNamesOrQuotesHoldIsNoOtherDelimiterAndNoTime) {
  const auto rows = [](const std::string& text) { return read_text(text).by_user.nnz(); };
  EXPECT_EQ(rows("user\titem\n1 7\t2\n2 7\t3\n"), 2);
  EXPECT_EQ(rows("\"1,7\",\"2,5\"\n\"2,7\",\"3,5\"\n"), 2);
  EXPECT_EQ(rows("user,item\n1,2026-01-02\n2,2026-01-03\n"), 2);
  EXPECT_THAT(bad_option("1 7\t2\n2 7\t3\n", {}), HasSubstr("every user holds another delimiter"));
  EXPECT_THAT(bad_option("1,2026-01-02\n2,2026-01-03\n", {}),
              HasSubstr("column 2 should hold items but holds times"));
}

TEST(ReadText, AWordAmongNumbersIsABadRow) {
  std::string numbers;
  for (int i = 0; i < 3000; ++i) numbers += fmt::format("{},{},{}\n", i % 60, i / 60, i % 5);
  for (const std::string& text : {"1,2,x\n" + numbers, numbers + "1,2,x\n"}) {
    EXPECT_THAT(bad_data(text), AllOf(HasSubstr("the value 'x'"), HasSubstr("on_bad_row skip")));
    ReadSummary summary;
    EXPECT_EQ(read_text(text, {.on_bad_row = BadRows::kSkip}, &summary).by_user.nnz(), 3000);
    EXPECT_EQ(summary.bad_rows, 1);
  }
}

TEST(ReadText, SkipsBadRowsIfAsked) {
  ReadSummary summary;
  const ReadOptions skip{.on_bad_row = BadRows::kSkip};
  EXPECT_EQ(
      cells(read_text("user,item,rating\n1,10,3.5\nx,y,z\n1,20,4\n9,\n2,10,1\n", skip, &summary)),
      kSmall);
  EXPECT_EQ(summary.rows, 5);
  EXPECT_EQ(summary.bad_rows, 2);
  EXPECT_THAT(summary.first_bad_row, HasSubstr("file.csv:3: the value 'z'"));
  EXPECT_THAT(bad_data("user,item,rating\n1,2,?\n3,4,\n", skip),
              HasSubstr("all 2 rows are bad; the first one: file.csv:2"));
  EXPECT_THAT(bad_option("user,item,rating\n1,2,x\n3,4,\n", skip),
              HasSubstr("column 3 (rating) holds words, 'x': say what each counts"));
}

TEST(ReadText, RefusesWhatHoldsNothing) {
  EXPECT_THAT(bad_data(""), HasSubstr("file.csv: is empty"));
  EXPECT_THAT(bad_data("\n \n\r\n"), HasSubstr("only blank lines"));
  EXPECT_THAT(bad_data("userId,movieId,rating\n"), HasSubstr("a header but no rows"));
}

TEST(ReadText, RefusesWhatIsNotText) {
  EXPECT_THAT(bad_data(std::string("1,2,3\n\0\1\2", 9)), HasSubstr("is not text (byte 7 is zero)"));
  // Nor where lines are rewritten and bad ones skipped.
  using namespace std::string_literals;
  EXPECT_THAT(bad_data("1:\n5,3,2005-09-06\n6,4\0,2005-09-06\n"s,
                       {.format = Format::kNetflix, .on_bad_row = BadRows::kSkip}),
              HasSubstr("file.csv:3: the file is not text"));
  EXPECT_THAT(bad_data("{\"user\": 1, \"item\": 2}\n{\"user\": 1,\0 \"item\": 3}\n"s,
                       {.on_bad_row = BadRows::kSkip}),
              HasSubstr("file.csv:2: the file is not text"));
  EXPECT_THAT(bad_data(std::string("\xff\xfe"
                                   "1\0,\0",
                                   6)),
              HasSubstr("UTF-16"));
  EXPECT_THAT(bad_data("\xff\xfe\0\0001\0\0\0"s), HasSubstr("UTF-32"));
  EXPECT_THAT(bad_data("\0\0\xfe\xff\0\0\0001"s), HasSubstr("UTF-32"));
  EXPECT_THAT(bad_data("1,2\r3,4\r5,6\r"), HasSubstr("CR alone"));
  EXPECT_THAT(bad_data("PK\x03\x04stuff"), HasSubstr("a zip archive"));
  EXPECT_THAT(bad_data("PAR1\x15\x02"), HasSubstr("a Parquet file"));
}

TEST(ReadText, RefusesEndlessLines) {
  const ReadTuning tuning{.block_bytes = 64, .max_line_bytes = 256, .head_bytes = 128};
  const std::string line(1000, 'x');
  EXPECT_THAT(bad_data(line + ",2\n", {}, tuning),
              HasSubstr("file.csv:1: the line is longer than 256"));
  EXPECT_THAT(bad_data("1,2\n3,4\n" + line + ",2\n5,6\n", {}, tuning),
              HasSubstr("file.csv:3: the line is longer"));
  EXPECT_THAT(bad_data("1,2\n3,4\n" + line + ",2\n5,6\n", {}, {.max_line_bytes = 256}),
              HasSubstr("file.csv:3: the line is longer"));
  EXPECT_THAT(bad_data("1,2\n3,4\n5," + std::string(400, '\0') + "\n", {}, {.head_bytes = 8}),
              HasSubstr("file.csv:3: the file is not text"));
}

TEST(ReadText, TimesAreLeftOutUnlessAskedFor) {
  EXPECT_FALSE(read_text("user,item,time\n1,2,978300760\n").has_times());
  EXPECT_THAT(bad_data("user,item,time\n1,2,yesterday\n"),  // whether they are kept or not
              HasSubstr("file.csv:2: the time 'yesterday', column 3 (time), is neither"));
  EXPECT_FALSE(read_text("user,item\n1,2\n", {.keep_times = true}).has_times());
}

}  // namespace
}  // namespace likewise::test
