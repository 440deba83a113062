// SPDX-License-Identifier: Apache-2.0
/// What is told of what a training learned.
#include "training/notes.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/synthetic.h"
#include "likewise/training.h"

namespace likewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::StartsWith;

[[nodiscard]] Interactions made(const char* shape) { return generate(parse_shape(shape), 1); }

/// Of a model of 8 factors.
[[nodiscard]] std::vector<std::string> notes_after(const Interactions& data, const char* algorithm,
                                                   const char* feedback,
                                                   const char* regularization) {
  std::vector<AskedParameter> asked{{"factors", "8"}, {"regularization", regularization}};
  if (std::string(algorithm) != "bpr") asked.push_back({"feedback", feedback});
  const TrainingPlan plan =
      prepare({.algorithm = algorithm, .parameters = asked, .device = "cpu"}, data);
  std::vector<std::string> notes;
  for (const std::string& note : notes_on(train(plan, data))) notes.push_back(spelled(note));
  return notes;
}

TEST(NotesOnModels, NameTheRegularizationThatLeavesNothing) {
  const auto is_told = ElementsAre(
      MatchesRegex("factors add at most .* to a score, next to nothing; with less than "
                   "regularization 1e\\+06, or with more iterations, they may add more"));
  EXPECT_THAT(notes_after(made("300x80x6000"), "als", "implicit", "1e6"), is_told);
  EXPECT_THAT(notes_after(made("300x80x6000:explicit"), "als", "explicit", "1e6"), is_told);
}

TEST(NotesOnModels, SayNothingOfFactorsThatTellItemsApart) {
  EXPECT_THAT(notes_after(made("300x80x6000"), "als", "implicit", "0.01"), IsEmpty());
  EXPECT_THAT(notes_after(made("300x80x6000:explicit"), "als", "explicit", "0.05"), IsEmpty());
  EXPECT_THAT(notes_after(made("300x80x6000:explicit"), "sgd", "explicit", "0.02"), IsEmpty());
  EXPECT_THAT(notes_after(made("300x80x6000"), "bpr", "implicit", "0.01"), IsEmpty());
}

TEST(NotesOnModels, SayThatThereAreNoNeighbours) {
  const auto after = [](const char* parameter, const char* value) {
    const Interactions data = made("300x80x6000");
    const TrainingPlan plan = prepare(
        {.algorithm = "item-knn", .parameters = {{parameter, value}}, .device = "cpu"}, data);
    return notes_on(train(plan, data));
  };
  EXPECT_THAT(after("min_support", "1"), IsEmpty());
  for (const char* parameter : {"min_support", "amplification"}) {
    const std::vector<std::string> notes = after(parameter, "100000");
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_THAT(spelled(notes.front()), StartsWith("no neighbours were found with min_support"));
  }
}

/// Ratings of ten-thousandths have factors as small.
TEST(NotesOnModels, MeasureByTheSpreadOfRatings) {
  Interactions data = made("300x80x6000:explicit");
  for (float& value : data.by_user.values) value *= 1e-4F;
  EXPECT_THAT(notes_after(data, "als", "explicit", "5e-6"), IsEmpty());
}

/// That is told of the data.
TEST(NotesOnModels, SayNothingWhereRatingsAreAlike) {
  Interactions data = made("300x80x6000:explicit");
  std::ranges::fill(data.by_user.values, 3.0F);
  EXPECT_THAT(notes_after(data, "als", "explicit", "0.05"), IsEmpty());
}

}  // namespace
}  // namespace likewise
