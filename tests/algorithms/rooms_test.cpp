// SPDX-License-Identifier: Apache-2.0
/// What every algorithm answers about itself.
#include <gtest/gtest.h>

#include "algorithms/algorithm.h"

namespace likewise {
namespace {

TEST(Rooms, AnswerToTheirNamesAndKeepTheirFeedback) {
  for (const std::string_view name : algorithm_names()) {
    for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
      const TrainingParams params = default_params(name, feedback);
      const auto algorithm = algorithm_of(params);
      EXPECT_EQ(algorithm->name(), name);
      EXPECT_EQ(algorithm->predicts_ratings(),
                feedback_of(params) == Feedback::kExplicit && name != "popular");
      EXPECT_TRUE(algorithm->ranks_items()) << name;
    }
  }
}

TEST(Rooms, WithoutAnAnswerOfTheirOwnListsAreSumsOverTheItemsOfAUser) {
  const TrainingParams params = default_params("popular", Feedback::kImplicit);
  const KnnParams usual = algorithm_of(params)->scores_of_lists();
  EXPECT_EQ(usual.side, Side::kItems);
  EXPECT_EQ(usual.prediction, Prediction::kSum);
  EXPECT_EQ(usual.sum_lists, SumLists::kOwn);
  EXPECT_EQ(usual.sum_scale, SumScale::kNone);
}

}  // namespace
}  // namespace likewise
