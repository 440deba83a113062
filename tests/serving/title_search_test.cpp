// SPDX-License-Identifier: Apache-2.0
#include "likewise/title_search.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace likewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The items are "0" to "5".
[[nodiscard]] TitleSearch films() {
  return {make_titles({"The Star", "Star Wars", "Mustard", "Am\xC3\xA9lie", "Star Trek", ""}),
          IdMap::range(6),
          {5, 1, 9, 2, 3, 4}};
}

TEST(TitleSearch, FoldsCaseAccentsAndLigatures) {
  EXPECT_EQ(folded("AM\xC3\x89LIE"), "amelie");
  EXPECT_EQ(folded("\xEF\xAC\x81lm Stra\xC3\x9F"
                   "e"),
            "film strasse");
  EXPECT_EQ(folded("\xFF is no text"), "\xFF is no text");
}

TEST(TitleSearch, BestIsWhatBeginsThenAWordThenInside) {
  EXPECT_THAT(films().find("STAR", 10), ElementsAre(4, 1, 0, 2));
  EXPECT_THAT(films().find("star", 2), ElementsAre(4, 1));
  EXPECT_THAT(films().find("wars  star", 10), ElementsAre(1));
  EXPECT_THAT(films().find("ame", 10), ElementsAre(3));
  EXPECT_THAT(films().find("star amelie", 10), IsEmpty());
}

TEST(TitleSearch, KnowsIdsAndTheMostPopular) {
  EXPECT_THAT(films().find("5", 10), ElementsAre(5));
  EXPECT_THAT(films().find(" ", 3), ElementsAre(2, 0, 5));
  EXPECT_EQ(films().weight(2), 9);
}

}  // namespace
}  // namespace likewise
