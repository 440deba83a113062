// SPDX-License-Identifier: Apache-2.0
#include "tests/data/text/read_support.h"

namespace likewise::test {
namespace {

using testing::HasSubstr;

const std::string kBanner = "%%MatrixMarket matrix coordinate ";

TEST(ReadMatrixMarket, ReadsRealIntegerAndPattern) {
  const Cells expected{{{"1", "3"}, 2.5F}, {{"2", "1"}, -1.0F}};
  EXPECT_EQ(
      cells(read_text(kBanner + "real general\n% a comment\n%\n\n2 3 2\n1 3 2.5\n2  1\t-1\n")),
      expected);
  EXPECT_EQ(cells(read_text(
                "%%matrixmarket MATRIX Coordinate Integer General\r\n2 3 2\r\n1 3 7\r\n2 1 8")),
            (Cells{{{"1", "3"}, 7.0F}, {{"2", "1"}, 8.0F}}));
  ReadSummary summary;
  EXPECT_EQ(cells(read_text(kBanner + "pattern general\n9 9 3\n5 6\n5 6\n7 6\n", {}, &summary)),
            (Cells{{{"5", "6"}, 2.0F}, {{"7", "6"}, 1.0F}}));
  EXPECT_EQ(summary.format, "matrix market, coordinate pattern general");
}

TEST(ReadMatrixMarket, MirrorsSymmetricEntries) {
  ReadSummary summary;
  EXPECT_EQ(cells(read_text(kBanner + "real symmetric\n3 3 2\n2 2 4\n3 1 5\n", {}, &summary)),
            (Cells{{{"2", "2"}, 4.0F}, {{"3", "1"}, 5.0F}, {{"1", "3"}, 5.0F}}));
  EXPECT_EQ(summary.rows, 2);
  EXPECT_EQ(summary.duplicates, 0);
}

TEST(ReadMatrixMarket, ADeclaredShapeCostsNothing) {
  const auto data = read_text(kBanner + "real general\n2147483647 2147483647 1\n2147483647 5 1\n");
  EXPECT_EQ(data.users.size(), 1);
  EXPECT_EQ(data.users.name(0), "2147483647");
}

TEST(ReadMatrixMarket, LongCommentsDoNotMatter) {
  std::string text = kBanner + "real general\n";
  for (int i = 0; i < 3000; ++i) text += "% a long comment about where this matrix comes from\n";
  text += "1 1 1\n1 1 x\n";
  EXPECT_THAT(bad_data(text), HasSubstr("file.csv:3003: the value 'x'"));
}

TEST(ReadMatrixMarket, RefusesWhatItCannotRead) {
  EXPECT_THAT(
      bad_data("%%MatrixMarket matrix array real general\n1 1\n1\n"),
      HasSubstr("file.csv:1: Matrix Market format 'array' is not supported: use coordinate"));
  EXPECT_THAT(bad_data(kBanner + "complex general\n1 1 1\n1 1 1 1\n"),
              HasSubstr("field 'complex'"));
  EXPECT_THAT(bad_data(kBanner + "real skew-symmetric\n1 1 1\n"),
              HasSubstr("symmetry 'skew-symmetric'"));
  EXPECT_THAT(bad_data("%%MatrixMarket\n"), HasSubstr("object ''"));
  EXPECT_THAT(bad_data(kBanner + "real general\n% only\n"), HasSubstr("ends before the size line"));
  EXPECT_THAT(bad_data(kBanner + "real general\n1 1\n"),
              HasSubstr("file.csv:2: expected the size line"));
  EXPECT_THAT(bad_data(kBanner + "real general\n1 -1 1\n"), HasSubstr("expected the size line"));
  EXPECT_THAT(bad_data(kBanner + "real general\n3000000000 1 1\n"),
              HasSubstr("at most 2147483647"));
  EXPECT_THAT(bad_data(kBanner + "real symmetric\n2 3 1\n1 1 1\n"), HasSubstr("cannot be 2 x 3"));
}

TEST(ReadMatrixMarket, NamesBadEntries) {
  const std::string head = kBanner + "real general\n2 3 2\n";
  EXPECT_THAT(bad_data(head + "1 1 1\n3 1 1\n"),
              HasSubstr("file.csv:4: row '3' is not a number from 1 to 2"));
  EXPECT_THAT(bad_data(head + "1 1 1\n1 0 1\n"),
              HasSubstr("file.csv:4: column '0' is not a number from 1 to 3"));
  EXPECT_THAT(bad_data(head + "1 1 1\n1 x 1\n"), HasSubstr("column 'x'"));
  EXPECT_THAT(bad_data(head + "1 1\n"), HasSubstr("file.csv:3: '1 1' has 2 of the 3 columns"));
  EXPECT_THAT(bad_data(head + "1 1 1\n"), HasSubstr("declares 2 entries but holds 1"));
  EXPECT_THAT(bad_data(head + "1 1 1\n1 2 1\n1 3 1\n"),
              HasSubstr("declares 2 entries but holds 3"));
}

TEST(ReadMatrixMarket, TakesThePolicies) {
  const std::string text = kBanner + "integer general\n2 2 3\n1 1 4\n1 1 5\n2 2 1\n";
  EXPECT_EQ(cells(read_text(text)).at({"1", "1"}), 5.0F);
  EXPECT_EQ(cells(read_text(text, {.duplicates = Duplicates::kSum})).at({"1", "1"}), 9.0F);
  EXPECT_EQ(read_text(text, {.min_value = 2.0}).users.size(), 1);
}

}  // namespace
}  // namespace likewise::test
