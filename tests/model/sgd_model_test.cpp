// SPDX-License-Identifier: Apache-2.0
/// Models of SGD, which have sums of squares beside their factors.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/synthetic.h"
#include "tests/errors.h"
#include "tests/model/model_support.h"
#include "training/train.h"

namespace likewise {
namespace {

using testing::HasSubstr;

Interactions ratings() { return generate(parse_shape("60x40x900:explicit"), 5); }

SgdParams small(SgdSchedule schedule) {
  SgdParams params;
  params.factors = 5;
  params.iterations = 4;
  params.schedule = schedule;
  return params;
}

std::string refusal(test::ModelParts parts) {
  return test::error_of(ErrorKind::kBadData,
                        [&] { (void)test::model_from_string(parts.sealed()); });
}

/// Through a file, after two of four epochs: bit-identical.
TEST(SgdModel, GoesOnFromItsFile) {
  const Interactions data = ratings();
  for (const SgdSchedule schedule : {SgdSchedule::kAdaptive, SgdSchedule::kBold}) {
    SgdParams params = small(schedule);
    const Model whole = train(data, params, open_device("cpu"));
    params.iterations = 2;
    const Model part =
        test::model_from_string(test::saved(train(data, params, open_device("cpu"))));
    params.iterations = 4;
    ResolvedRun run;
    run.resume = &part;
    const Model resumed = train(data, params, open_device("cpu"), run);
    const auto& one = std::get<Factors>(resumed.learned);
    const auto& other = std::get<Factors>(whole.learned);
    test::expect_same_bytes(one.users.row_span(3), other.users.row_span(3), "user");
    test::expect_same_bytes(one.item_bias.span(), other.item_bias.span(), "item biases");
    test::expect_same_bytes(one.user_squares.span(), other.user_squares.span(), "squares");
  }
}

TEST(SgdModel, BrokenSquaresAreRefused) {
  const std::string good =
      test::saved(train(ratings(), small(SgdSchedule::kAdaptive), open_device("cpu")));
  test::ModelParts negative(good);
  negative.set<float>("item_squares", 3, -1.0F);
  EXPECT_THAT(refusal(negative), HasSubstr("item_squares: the number of row 3 (id "));
  test::ModelParts infinite(good);
  infinite.set<float>("user_squares", 2, INFINITY);
  EXPECT_THAT(refusal(infinite), HasSubstr("user_squares"));
  test::ModelParts constant(good);
  auto params = nlohmann::json::parse(constant.metadata()["parameters"].get<std::string>());
  params["schedule"] = "constant";
  constant.metadata()["parameters"] = params.dump();
  EXPECT_THAT(refusal(constant),
              HasSubstr("user_squares: these parameters have no adaptive steps"));
}

}  // namespace
}  // namespace likewise
