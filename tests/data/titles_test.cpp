// SPDX-License-Identifier: Apache-2.0
/// Files of titles.
#include "likewise/titles.h"

#include <cstring>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/support.h"

namespace likewise::test {
namespace {

using testing::HasSubstr;

const IdMap& items() {
  static const IdMap kItems = [] {
    const std::vector<std::int64_t> ids{1, 2, 7};
    return IdMap::from_sorted_integers(Array<std::int64_t>::copy_of(ids));
  }();
  return kItems;
}

using Named = std::map<std::string, std::string>;

Named read(const std::string& text, const TitleOptions& options = {},
           TitleSummary* summary = nullptr, const IdMap& ids = items()) {
  const TemporaryFolder folder;
  std::ofstream(folder / "t.csv", std::ios::binary) << text;
  const Titles titles = read_titles(folder / "t.csv", ids, options, summary);
  titles.validate(ids.size());
  Named named;
  Index count = 0;
  for (Index item = 0; item < ids.size(); ++item) {
    if (titles.of(item).empty()) continue;
    named[ids.name(item)] = titles.of(item);
    ++count;
  }
  EXPECT_EQ(titles.count(), count);
  return named;
}

std::string refused(const std::string& text, ErrorKind kind = ErrorKind::kBadData,
                    const TitleOptions& options = {}) {
  return error_of(kind, [&] { (void)read(text, options); });
}

TEST(Titles, FindTheirColumns) {
  const Named both{{"1", "A"}, {"2", "B, the"}};
  for (const char* text :
       {"movieId,title,genres\n1,A,x\n2,\"B, the\",y\n", "1,A\n2,\"B, the\"\n",
        "1::A::x\n2::B, the::y\n", "1|A|01-Jan-1995||0\n2|B, the|01-Jan-1995||1\n",
        "\xef\xbb\xbfid\tname\turl\r\n1\tA\thttp\r\n2\tB, the\thttp\r\n",
        "title,code\nA,1\n\"B, the\",2\n",
        "genre;original_title;title;Book-ID\nx;y;A;1\n;;B, the;2\n", "\n1,A\n\n2,\"B, the\"\n",
        "nr,was\n1,A\n2,\"B, the\""}) {
    EXPECT_EQ(read(text), both) << text;
  }
  EXPECT_EQ(read("a,b,c\n1,x,A\n2,y,\"B, the\"\n", {{"a", "c"}}), both);
  EXPECT_EQ(read("A,1\n\"B, the\",2\n", {{"2", "1"}}), both);
}

TEST(Titles, WhatWouldBeAGuessIsAQuestion) {
  const auto asked = [](const std::string& text) {
    return refused(text, ErrorKind::kInvalidArgument);
  };
  EXPECT_THAT(asked("id,movieId,title\n1,2,A\n"),
              HasSubstr("t.csv: cannot tell which column holds the item ids: the columns are id, "
                        "movieId, title; choose the columns with titles_columns ID,TITLE"));
  EXPECT_THAT(asked("a,b,title\n1,2,A\n"), HasSubstr("which column holds the item ids"));
  EXPECT_THAT(asked("movieId,a,b\n1,2,A\n"), HasSubstr("which column holds the titles"));
  EXPECT_THAT(refused("1,A\n", ErrorKind::kInvalidArgument, {{"1", "3"}}),
              HasSubstr("there is no column 3"));
  EXPECT_THAT(refused("1,A\n", ErrorKind::kInvalidArgument, {{"1", "1"}}),
              HasSubstr("named twice"));
  EXPECT_THAT(refused("1,A\n", ErrorKind::kInvalidArgument, {{"1"}}),
              HasSubstr("columns must name 2 columns (item id, title), not 1"));
  EXPECT_THAT(refused("x,A\ny,B\n"),
              HasSubstr("none of the 2 ids, such as 'x', is that of an item, such as '1'; choose"));
}

TEST(Titles, AreQuotedAsInRfc4180) {
  EXPECT_EQ(read("id,title\n1,\"The \"\"A\"\", a\n  film\"\n2,\"two\r\n\r\nlines\"\n"),
            (Named{{"1", "The \"A\", a   film"}, {"2", "two  lines"}}));
  EXPECT_EQ(read("1\t\"Weird\" A\n2\tB \"\n"), (Named{{"1", "\"Weird\" A"}, {"2", "B \""}}));
  EXPECT_THAT(refused("id,title\n1,A\n2,\"B\n7,C\n"),
              HasSubstr("t.csv:3: a quoted field begins here and does not end: '2,"));
  EXPECT_THAT(refused("id,title\n1,\"A\" b\n"), HasSubstr("t.csv:2: text follows a quoted field"));
  std::string open = "id,title\n1,\"A\n";
  for (int i = 0; i < 30'000; ++i) open += fmt::format("{},B\n", i + 10);
  EXPECT_THAT(refused(open), HasSubstr("t.csv:2: a quoted field begins here"));
}

TEST(Titles, ThatAreNotUtf8AreLatin1) {
  TitleSummary summary;
  EXPECT_EQ(read("1::Mis\xe9rables\n2::Schindler\x92s\n7::C\x81\n", {}, &summary),
            (Named{{"1", "Mis\xc3\xa9rables"}, {"2", "Schindler\xe2\x80\x99s"}, {"7", "C"}}));
  EXPECT_EQ(summary.remark,
            "the title on line 1 is not UTF-8: all are read as Latin-1 (Windows-1252)");
  EXPECT_EQ(read("1,Mis\xc3\xa9rables\n2,\xe6\x97\xa5\n", {}, &summary),
            (Named{{"1", "Mis\xc3\xa9rables"}, {"2", "\xe6\x97\xa5"}}));
  EXPECT_EQ(summary.remark, "");
  // Bytes of other columns do not matter.
  EXPECT_EQ(read("1,A\xc3\xa9,\xe9\n", {}, &summary), (Named{{"1", "A\xc3\xa9"}}));
  EXPECT_THAT(refused(std::string("1,A\n2,\0B\n", 9)), HasSubstr("t.csv:2: is not text"));
  EXPECT_THAT(refused("\xff\xfe"
                      "1,A\n"),
              HasSubstr("t.csv:1: is not text"));
}

TEST(Titles, MayLackAndMayBeOfOthers) {
  TitleSummary summary;
  EXPECT_EQ(read("id,title\n1,A\n5,E\n2,\n6,\n", {}, &summary), (Named{{"1", "A"}}));
  EXPECT_EQ(summary.unknown, 2);
  EXPECT_EQ(summary.format, "csv, header id,title");
}

TEST(Titles, FaultsNameTheirLines) {
  EXPECT_THAT(refused("id,title\n1,A\n2,B\n1,C\n"),
              HasSubstr("t.csv:4: item '1' has a title already, on line 2; remove one of the two"));
  EXPECT_THAT(refused("id,title\nx,A\n2,B\nx,C\n"), HasSubstr("t.csv:4: item 'x' has a title"));
  EXPECT_THAT(
      refused("id,title\n1,A, the\n"),
      HasSubstr("t.csv:2: '1,A, the' has 3 columns (separated by ','), the header 2; quote"));
  EXPECT_THAT(refused("1,A\n2,B\n7,C, the\n"), HasSubstr("t.csv:3: '7,C, the' has 3 columns"));
  EXPECT_THAT(refused("id,title\n1\n"), HasSubstr("t.csv:2: '1' has 1 columns"));
  EXPECT_THAT(refused("id,title\n,A\n"), HasSubstr("t.csv:2: the item id is empty"));
  EXPECT_THAT(refused("id,title\n"), HasSubstr("t.csv: holds no titles"));
  EXPECT_THAT(refused(""), HasSubstr("t.csv: is empty"));
  EXPECT_THAT(refused("\n \n"), HasSubstr("t.csv: is empty"));
  EXPECT_THAT(refused("1,A\r2,B\r"), HasSubstr("t.csv: its lines end in CR alone"));
  EXPECT_THAT(refused("alone\n"), HasSubstr("found no delimiter"));
}

TEST(Titles, OfTextIdsAreComparedByteByByte) {
  const std::vector<std::string> names{"007", "caf\xe9", "x"};
  const IdMap ids = IdMap::from_text(names);
  EXPECT_EQ(read("id,title\n007,Bond\n7,Seven\ncaf\xe9,Coffee\n", {}, nullptr, ids),
            (Named{{"007", "Bond"}, {"caf\xe9", "Coffee"}}));
}

TEST(Titles, ManyRowsAreFine) {
  std::string text = "id,title\n";
  for (int i = 0; i < 5000; ++i) text += fmt::format("{},Title {}\n", i, i);
  const Titles titles = [&] {
    const TemporaryFolder folder;
    std::ofstream(folder / "t.csv") << text;
    return read_titles(folder / "t.csv", IdMap::range(5000));
  }();
  EXPECT_EQ(titles.count(), 5000);
  EXPECT_EQ(titles.of(4999), "Title 4999");
}

/// The files that data sets come with.
TEST(Titles, OfPublicDataAreReadAsTheyAre) {
  const auto data = data_folder();
  LIKEWISE_NEEDS_DATA(data);
  struct Case {
    const char* file;
    Index count;
    Index item;
    const char* title;
    const char* remark;
  };
  const Case kCases[] = {
      {"goodbooks-10k/books.csv.gz", 10'000, 2,
       "Harry Potter and the Sorcerer's Stone (Harry Potter, #1)", ""},
      {"ml-1m/movies.dat.gz", 3883, 73, "Mis\xc3\xa9rables, Les (1995)",
       "the title on line 73 is not UTF-8: all are read as Latin-1 (Windows-1252)"},
      {"ml-100k/u.item", 1682, 543, "Mis\xc3\xa9rables, Les (1995)",
       "the title on line 543 is not UTF-8: all are read as Latin-1 (Windows-1252)"},
      {"ml-latest-small/movies.csv.gz", 9125, 11, "American President, The (1995)", ""},
  };
  for (const Case& c : kCases) {
    TitleSummary summary;
    const Titles titles =
        read_titles((data / c.file).string(), IdMap::range(170'000), {}, &summary);
    EXPECT_EQ(titles.count() + summary.unknown, c.count) << c.file;
    EXPECT_EQ(titles.of(c.item), c.title) << c.file;
    EXPECT_EQ(summary.remark, c.remark) << c.file;
  }
}

}  // namespace
}  // namespace likewise::test
