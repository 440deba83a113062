// SPDX-License-Identifier: Apache-2.0
/// A first line of three whole numbers: counts of users, items and rows, or a row.
#include <fmt/format.h>

#include "tests/data/text/read_support.h"

namespace likewise::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// `rows` ratings of 1 to 5 by users and items 1 to `users` and `items`.
std::string ratings(int users, int items, int rows, const std::string& separator) {
  std::string text;
  for (int i = 0; i < rows; ++i) {
    text += fmt::format("{}{}{}{}{}\n", i % users + 1, separator, i / users % items + 1, separator,
                        i % 5 + 1);
  }
  return text;
}

TEST(ReadCounts, ArePassedOverWhereTheyAgree) {
  for (const std::string s : {" ", "\t", ",", "::"}) {
    const std::string rows = ratings(40, 20, 800, s);
    const Interactions plain = read_text(rows);
    for (const std::string counts :
         {"40{0}20{0}800", "50{0}20{0}800", "40 25 800", "99 98 800", "900 950 800"}) {
      const std::string line = fmt::format(fmt::runtime(counts), s);
      for (const std::size_t bytes : {1, 50, 100'000}) {
        ReadSummary summary;
        expect_same(read_text("\n" + line + "\r\n" + rows, {}, &summary, tiny_blocks(bytes)),
                    plain);
        EXPECT_EQ(summary.rows, 800);
        EXPECT_THAT(summary.format, HasSubstr("line of counts"));
      }
    }
  }
}

TEST(ReadCounts, ThatTheRowsDoNotHaveAddNoUsersOrItems) {
  // User 50 and item 60 are on the first line alone.
  const auto data = read_text("50 60 800\n" + ratings(40, 20, 800, " "));
  EXPECT_EQ(data.users.size(), 40);
  EXPECT_EQ(data.items.size(), 20);
  EXPECT_FALSE(data.users.find(50));
  // 40 and 20 are on others, too: the value of that pair is the later one.
  EXPECT_EQ(cells(read_text("40 20 800\n" + ratings(40, 20, 800, " "))).at({"40", "20"}), 5.0F);
}

TEST(ReadCounts, DoNotCountAsADuplicate) {
  const std::string text = "40 20 800\n" + ratings(40, 20, 800, " ");
  EXPECT_EQ(read_text(text, {.duplicates = Duplicates::kError}).by_user.nnz(), 800);
}

TEST(ReadCounts, OfRowsWithTimesOrWithoutValues) {
  std::string timed = "4 6 24\n";
  std::string pairs = "4 6 24\n";
  for (int i = 0; i < 24; ++i) {
    timed += fmt::format("{}\t{}\t{}\t{}\n", i % 4, i / 4, i % 5 + 1, 978300760 + i);
    pairs += fmt::format("{}\t{}\n", i % 4, i / 4);
  }
  const auto data = read_text(timed, {.keep_times = true});
  EXPECT_EQ(data.by_user.nnz(), 24);
  EXPECT_EQ(times(data).at({"0", "0"}), 978300760);
  EXPECT_EQ(read_text(timed).by_user.nnz(), 24);
  EXPECT_EQ(read_text(pairs).by_user.nnz(), 24);
  EXPECT_EQ(read_text(ratings(40, 20, 800, ","), {.values = Values::kUnused}).by_user.nnz(), 800);
  EXPECT_EQ(read_text("40,20,800\n" + ratings(40, 20, 800, ","), {.values = Values::kUnused})
                .by_user.nnz(),
            800);
}

TEST(ReadCounts, SayNothingOfTheDelimiter) {
  std::string text = "4 300 1200\n";
  for (int i = 0; i < 1200; ++i) {
    // The names of the later items have blanks.
    text += fmt::format("{}\t{}{}\t{}\n", i % 4, i < 800 ? "item" : "an item", i / 4, i % 5 + 1);
  }
  ReadSummary summary;
  const auto data = read_text(text, {}, &summary);
  EXPECT_EQ(data.by_user.nnz(), 1200);
  EXPECT_EQ(data.items.size(), 300);
  EXPECT_EQ(summary.format, "tsv, line of counts");
}

TEST(ReadCounts, FollowTheColumns) {
  // Items come first, in the counts as in the rows.
  const std::string text = "40 20 800\n" + ratings(40, 20, 800, " ");
  const auto data = read_text(text, {.columns = {"2", "1", "3"}});
  EXPECT_EQ(data.users.size(), 20);
  EXPECT_EQ(data.by_user.nnz(), 800);
  EXPECT_THAT(bad_data("20 40 800\n" + ratings(40, 20, 800, " ")), HasSubstr("'20 40 800'"));
}

TEST(ReadCounts, ThatDoNotAgreeAreRefused) {
  for (const std::string s : {" ", "\t", ",", "::"}) {
    const std::string rows = ratings(40, 20, 800, s);
    // Rows are missing, or too many, users, items.
    for (const char* counts : {"40 20 799", "50 50 900", "39 21 800", "41 20 80", "800 19 800"}) {
      std::string line = counts;
      for (auto at = line.find(' '); at != std::string::npos; at = line.find(' ', at + s.size())) {
        line.replace(at, 1, s);
      }
      EXPECT_THAT(
          bad_data(line + "\n" + rows),
          AllOf(HasSubstr("file.csv:1: '" + (s == "\t" ? counts : line) + "' looks like counts"),
                HasSubstr("40 users, 20 items, 800 rows follow"), HasSubstr("header no")))
          << line;
      EXPECT_EQ(read_text(line + "\n" + rows, {.header = Header::kNo}).by_user.nnz(),
                std::string(counts).starts_with("40 20") ? 800 : 801);
      EXPECT_EQ(read_text(line + "\n" + rows, {.header = Header::kYes}).by_user.nnz(), 800);
    }
  }
  EXPECT_THAT(bad_data("943 1682 80000\n" + ratings(900, 1600, 1000, " ")),
              HasSubstr("does not agree"));
}

TEST(ReadCounts, ThatMayBeARatingAreRefused) {
  // Three users, three items, five rows; or a rating of five stars.
  const std::string rows = "1 1 4\n1 2 4\n2 2 3\n3 3 2\n3 1 5\n";
  EXPECT_THAT(bad_data("3 3 5\n" + rows), AllOf(HasSubstr("file.csv:1: '3 3 5' may be the counts"),
                                                HasSubstr("3 users, 3 items, 5 rows follow")));
  EXPECT_EQ(cells(read_text("3 3 5\n" + rows, {.header = Header::kNo})).at({"3", "3"}), 2.0F);
  EXPECT_EQ(read_text("3 3 5\n" + rows, {.header = Header::kYes}).by_user.nnz(), 5);
}

TEST(ReadCounts, OfTinyFilesWhereTheRowsBearThemOut) {
  // 21 is not ten times a rating, but exactly what follows, and above every rating.
  const std::string rows = ratings(5, 5, 21, " ");
  EXPECT_EQ(cells(read_text("5 5 21\n" + rows)), cells(read_text(rows)));
  EXPECT_EQ(read_text("5 5 21\n" + rows, {.values = Values::kUnused}).by_user.nnz(), 21);
  // A user more than follow: it may be a rating of 21.
  EXPECT_THAT(bad_data("6 5 21\n" + rows), HasSubstr("'6 5 21' may be the counts"));
}

TEST(ReadCounts, AboveBadRowsSayWhatIsBad) {
  const ReadOptions skip{.on_bad_row = BadRows::kSkip};
  EXPECT_THAT(bad_data("40 20 800\n1 1 ?\n1 2 !\n", skip),
              HasSubstr("all 2 rows are bad; the first one: file.csv:2: the value '?'"));
  EXPECT_THAT(bad_option("40 20 800\n1 1 x\n1 2 y\n", skip), HasSubstr("holds words, 'x', 'y'"));
  EXPECT_THAT(bad_data("40 20 800\n1 1 1\n2 2 1\n1 2 y\n", skip),
              HasSubstr("2 users, 2 items, 3 rows follow, 1 of them bad"));
}

TEST(ReadCounts, RatingsAreNone) {
  for (const std::string text :
       {"1,1,1\n2,2,2\n", "3,4,5\n1,1,4\n2,2,5\n", "5,5,9\n7,7,1\n8,8,1\n1,1,1\n",
        "100,200,300\n1,2,290\n2,3,1\n", "10,20,4\n1,1,5\n2,1,4\n3,2,3\n1,2,1\n",
        "30,40,20\n1,1,1\n2,2,1\n", "40,20,600\na,b,1\nc,d,601\n",
        "2,2,4\n7,8,1\n7,9,1\n8,1,5\n9,9,1\n"}) {
    ReadSummary summary;
    const Offset lines = std::count(text.begin(), text.end(), '\n');
    EXPECT_EQ(read_text(text, {}, &summary).by_user.nnz(), lines) << text;
    EXPECT_EQ(summary.rows, lines);
    EXPECT_THAT(summary.format, HasSubstr("no header"));
    // It is the first row, whatever the blocks.
    EXPECT_EQ(cells(read_text(text, {}, nullptr, tiny_blocks(1))), cells(read_text(text)));
  }
  EXPECT_EQ(read_text("user,item,value\n50,20,800\n" + ratings(40, 20, 800, ",")).by_user.nnz(),
            801);
  EXPECT_EQ(read_text("user,item,value\n943,1682,80000\n1,1,1\n1,2,1\n").by_user.nnz(), 3);
  // A first row keeps its place before the others: the last of two values counts.
  EXPECT_EQ(cells(read_text("3,4,5\n3,4,1\n1,1,5\n")).at({"3", "4"}), 1.0F);
  // A first row of ids beside text ids is text, too.
  EXPECT_EQ(read_text("3,4,5\na,b,4\nc,d,3\n").users.find("3").has_value(), true);
}

}  // namespace
}  // namespace likewise::test
