// SPDX-License-Identifier: Apache-2.0
/// Models of ALS whose training is not over: they have the changes that it goes on with.
#include <cmath>
#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/bfloat16.h"
#include "likewise/synthetic.h"
#include "tests/errors.h"
#include "tests/model/model_support.h"
#include "training/train.h"

namespace likewise {
namespace {

using testing::HasSubstr;

/// After five iterations, when starts move: a checkpoint's bytes, and the model of seven.
class AlsModel : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const test::TemporaryFolder folder;
    const Interactions data = generate(parse_shape("400x150x14000:implicit"), 5);
    AlsParams params;
    params.factors = 130;  // too many to solve exactly
    params.iterations = 7;
    ResolvedRun run;
    run.checkpoint = {folder / "state", 5};
    whole_ = test::saved(train(data, params, open_device("cpu"), run));
    state_ = test::saved(load_model(folder / "state"));
  }
  static std::string refusal(test::ModelParts parts) {
    return test::error_of(ErrorKind::kBadData,
                          [&] { (void)test::model_from_string(parts.sealed()); });
  }

  static inline std::string whole_;
  static inline std::string state_;
};

TEST_F(AlsModel, HasChangesUntilTheTrainingIsOver) {
  const Model state = test::model_from_string(state_);
  EXPECT_EQ(state.best_iteration, 5);
  const Factors& factors = test::factors_of(state);
  EXPECT_EQ(factors.user_changes.numbers.size(), 400 * 130);
  EXPECT_EQ(factors.item_changes.numbers.size(), 150 * 130);
  EXPECT_GT(factors.user_changes.ratio, 0.0F);
  EXPECT_LT(factors.user_changes.ratio, 1.0F);
  EXPECT_EQ(test::saved(state), state_);

  const Model whole = test::model_from_string(whole_);
  EXPECT_TRUE(test::factors_of(whole).user_changes.numbers.empty());
  EXPECT_EQ(whole_.find("changes"), std::string::npos);
}

TEST_F(AlsModel, BrokenChangesAreRefused) {
  test::ModelParts infinite(state_);
  infinite.set<std::uint16_t>("item_changes", 130, bfloat16_of(INFINITY));
  EXPECT_THAT(refusal(infinite), HasSubstr("item_changes: a number of row 1 (id 1) is not finite"));
  test::ModelParts large(state_);
  large.set<float>("user_changes_ratio", 0, 1.5F);
  EXPECT_THAT(refusal(large), HasSubstr("user_changes: a ratio of 1.5; it is from 0 to 1"));
  test::ModelParts none(state_);
  none.set<float>("user_changes_ratio", 0, NAN);
  EXPECT_THAT(refusal(none), HasSubstr("user_changes: a ratio of nan"));
  test::ModelParts exact(state_);
  auto params = nlohmann::json::parse(exact.metadata()["parameters"].get<std::string>());
  params["solver"] = "cholesky";
  exact.metadata()["parameters"] = params.dump();
  EXPECT_THAT(refusal(exact),
              HasSubstr("user_changes: these parameters do not go on with changes"));
}

}  // namespace
}  // namespace likewise
