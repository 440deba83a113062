// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/bias/bias.h"
#include "likewise/bias.h"
#include "likewise/error.h"
#include "tests/errors.h"
#include "tests/model/model_support.h"

namespace likewise {
namespace {

Model bias_model(BiasKind kind) {
  Model model = test::make_model({.factors = 0, .ids = test::Ids::kText});
  model.iterations.clear();
  model.best_iteration = 0;
  BiasParams params;
  params.baseline = kind;
  params.clip = false;
  params.baseline_epochs = 3;
  params.baseline_user_regularization = 1.0 / 3.0;
  model.params = params;
  model.learned = train_biases(model.history.view(), params);
  return model;
}

TEST(BiasModel, ComesBackAsItWas) {
  for (const BiasKind kind :
       {BiasKind::kBiases, BiasKind::kGlobalMean, BiasKind::kUserMean, BiasKind::kItemMean}) {
    const Model model = bias_model(kind);
    const Model back = test::model_from_string(test::saved(model));
    EXPECT_EQ(back.algorithm(), "bias");
    const auto& params = std::get<BiasParams>(back.params);
    EXPECT_EQ(params.baseline, kind);
    EXPECT_FALSE(params.clip);
    EXPECT_EQ(params.baseline_epochs, 3);
    EXPECT_EQ(params.baseline_user_regularization, 1.0 / 3.0);
    const Biases& found = *back.biases();
    const Biases& learned = *model.biases();
    EXPECT_EQ(found.users.empty(), !params.of_users());
    EXPECT_EQ(found.items.empty(), !params.of_items());
    test::expect_same_bytes(found.users.span(), learned.users.span(), "users");
    test::expect_same_bytes(found.items.span(), learned.items.span(), "items");
    EXPECT_EQ(found.mean, learned.mean);
    EXPECT_GT(found.mean, 1.0F);
    EXPECT_EQ(test::saved(back), test::saved(model)) << "every parameter is in the file";
  }
}

template <class Break>
void expect_refused(BiasKind kind, const std::string& part_of_message, const Break& change) {
  test::ModelParts parts(test::saved(bias_model(kind)));
  change(parts);
  EXPECT_THAT(
      test::error_of(ErrorKind::kBadData, [&] { (void)test::model_from_string(parts.sealed()); }),
      testing::HasSubstr(part_of_message));
}

void lose(test::ModelParts& parts, const std::string& tensor) {
  parts.header["elsewhere"] = parts.header.at(tensor);
  parts.header.erase(tensor);
}

TEST(BiasModel, RefusesBrokenFiles) {
  using test::ModelParts;
  constexpr auto kBiases = BiasKind::kBiases;
  for (const std::string name : {"user_bias", "item_bias"}) {
    expect_refused(kBiases, name + " has 0 numbers", [&](ModelParts& p) { lose(p, name); });
    expect_refused(kBiases, name + ": the number of row 2", [&](ModelParts& p) {
      p.set<float>(name, 2, std::numeric_limits<float>::infinity());
    });
  }
  expect_refused(BiasKind::kUserMean, "user_bias has 0 numbers",
                 [](ModelParts& p) { lose(p, "user_bias"); });
  expect_refused(kBiases, "global_mean",
                 [](ModelParts& p) { p.metadata()["global_mean"] = "1e30"; });
  const auto say = [](ModelParts& p, const char* name, const char* value) {
    auto params = nlohmann::json::parse(p.metadata()["parameters"].get<std::string>());
    params[name] = value;
    p.metadata()["parameters"] = params.dump();
  };
  // What is in the file is what its parameters say.
  expect_refused(kBiases, "item_bias: baseline user-mean has none",
                 [&](ModelParts& p) { say(p, "baseline", "user-mean"); });
  expect_refused(kBiases, "user_bias: baseline item-mean has none",
                 [&](ModelParts& p) { say(p, "baseline", "item-mean"); });
  expect_refused(BiasKind::kItemMean, "user_bias has 0 numbers",
                 [&](ModelParts& p) { say(p, "baseline", "biases"); });
  expect_refused(kBiases, "baseline is not one of its choices",
                 [&](ModelParts& p) { say(p, "baseline", "mode"); });
  expect_refused(kBiases, "feedback explicit",
                 [&](ModelParts& p) { say(p, "feedback", "implicit"); });
  expect_refused(kBiases, "it must be 5 x 0", [](ModelParts& p) {
    p.header["user_factors"]["shape"] = {0, 0};
  });
}

TEST(BiasModel, MustHoldWhatItsParametersSay) {
  Model model = bias_model(BiasKind::kBiases);
  model.learned = Popularity{model.biases()->items.share()};
  EXPECT_THAT(test::error_of(ErrorKind::kBadData, [&] { model.validate(); }),
              testing::HasSubstr("not what bias learns"));
}

}  // namespace
}  // namespace likewise
