// SPDX-License-Identifier: Apache-2.0
#include "likewise/suggestion.h"

#include <gtest/gtest.h>

namespace likewise {
namespace {

TEST(Suggestion, OfWhatIsNearest) {
  EXPECT_EQ(suggestion("--factor", {"-n", "--factors", "--seed"}), " (did you mean --factors?)");
  EXPECT_EQ(suggestion("reg", {"rate", "regularization"}), " (did you mean regularization?)");
  EXPECT_EQ(suggestion("recomend", {"evaluate", "recommend"}), " (did you mean recommend?)");
  EXPECT_EQ(suggestion("Recommend", {"recommend"}), " (did you mean recommend?)");
  EXPECT_EQ(suggestion("--frobnicate", {"--factors", "--seed"}), "");
  EXPECT_EQ(suggestion("-", {"--factors"}), "");
}

TEST(Suggestion, OfNamesInOtherPrograms) {
  EXPECT_EQ(suggestion("-k", {"--seed", "-n"}), " (did you mean -n?)");
  EXPECT_EQ(suggestion("N", {"users", "n"}), " (did you mean n?)");
  EXPECT_EQ(suggestion("--rank", {"--seed", "--factors"}), " (did you mean --factors?)");
  EXPECT_EQ(suggestion("filter_already_liked_items", {"include_seen", "items"}),
            " (did you mean include_seen?)");
  EXPECT_EQ(suggestion("rank", {"seed"}), "");
}

}  // namespace
}  // namespace likewise
