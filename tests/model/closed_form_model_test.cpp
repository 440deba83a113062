// SPDX-License-Identifier: Apache-2.0
/// Models of ease and spectral: saved, loaded, broken.
#include <limits>

#include <gtest/gtest.h>

#include "algorithms/ease/ease.h"
#include "algorithms/spectral/spectral.h"
#include "likewise/ease.h"
#include "likewise/error.h"
#include "likewise/spectral.h"
#include "tests/model/model_support.h"

namespace likewise {
namespace {

[[nodiscard]] Model without_iterations() {
  Model model = test::make_model({.factors = 0, .ids = test::Ids::kText});
  model.iterations.clear();
  model.best_iteration = 0;
  return model;
}

[[nodiscard]] Model ease_model(EaseForm form) {
  Model model = without_iterations();
  const EaseParams params{.user_exponent = 1.0 / 3.0,
                          .item_exponent = 1.0 / 7.0,
                          .dropout = 0.1 / 3.0,
                          .form = form,
                          .candidates = 4};
  model.params = params;
  std::visit([&](auto&& learned) { model.learned = std::move(learned); },
             train_ease(model.history.view(), params, open_device("cpu")));
  return model;
}

TEST(ClosedFormModel, ComesBackAsItWas) {
  for (const EaseForm form : {EaseForm::kDense, EaseForm::kLocal}) {
    const Model model = ease_model(form);
    const Model back = test::model_from_string(test::saved(model));
    EXPECT_EQ(std::get<EaseParams>(back.params), std::get<EaseParams>(model.params));
    EXPECT_EQ(back.learned.index(), model.learned.index());
    EXPECT_EQ(test::saved(back), test::saved(model)) << "every number is in the file";
  }
  Model model = without_iterations();
  const SpectralParams params{.factors = 5, .item_exponent = 1.0 / 3.0, .spectrum_exponent = 0.7};
  model.params = params;
  model.learned = train_spectral(model.history.view(), params, open_device("cpu"));
  const Model back = test::model_from_string(test::saved(model));
  EXPECT_EQ(std::get<SpectralParams>(back.params), params);
  EXPECT_EQ(test::saved(back), test::saved(model));
}

template <class Break>
void expect_refused(EaseForm form, const std::string& part_of_message, const Break& change) {
  test::ModelParts parts(test::saved(ease_model(form)));
  change(parts);
  try {
    (void)test::model_from_string(parts.sealed());
    FAIL() << "loaded, but " << part_of_message;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadData);
    EXPECT_NE(std::string(error.what()).find(part_of_message), std::string::npos) << error.what();
  }
}

TEST(ClosedFormModel, RefusesWeightsThatAreNotThereOrOfAnotherShape) {
  using test::ModelParts;
  expect_refused(EaseForm::kDense, "item_weights", [](ModelParts& p) {
    p.header["elsewhere"] = p.header.at("item_weights");
    p.header.erase("item_weights");
  });
  expect_refused(EaseForm::kDense, "it must be 9 x 9 (ids x items)", [](ModelParts& p) {
    p.header.at("item_weights")["shape"] = {27, 3};
  });
  const auto with_form = [](const char* form) {
    return [form](ModelParts& p) {
      auto parameters = nlohmann::json::parse(p.metadata()["parameters"].get<std::string>());
      parameters["form"] = form;
      p.metadata()["parameters"] = parameters.dump();
    };
  };
  expect_refused(EaseForm::kDense, "neighbours.offsets", with_form("local"));
  expect_refused(EaseForm::kLocal, "item_weights", with_form("dense"));
  expect_refused(EaseForm::kLocal, "form is not one of its choices", with_form("wide"));
}

TEST(ClosedFormModel, RefusesWeightsThatAreNotFinite) {
  Model model = ease_model(EaseForm::kDense);
  std::get<ItemWeights>(model.learned).weights.row(2)[3] = std::numeric_limits<float>::infinity();
  EXPECT_THROW((void)test::saved(model), Error);
}

}  // namespace
}  // namespace likewise
