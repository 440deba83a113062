// SPDX-License-Identifier: Apache-2.0
/// Features in model files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/model/model_support.h"

namespace likewise::test {
namespace {

using testing::HasSubstr;

Model featured(bool biases) {
  Model model = make_model({.biases = biases});
  const std::vector<Entry> likes{{0, 1, 1.0F}, {1, 2, 1.0F}, {2, 3, 1.0F}, {3, 4, 1.0F}};
  model.history = make_csr(5, 9, likes);
  std::string text = "id,tag\n";
  for (Index item = 1; item < 9; ++item) {
    text += fmt::format("\"{}\",{}\n", model.items.name(item), item % 2 == 0 ? "even" : "odd");
  }
  (void)add_features(model, Side::kItems, features_from_text(text, "f.csv", Side::kItems), {2.5});
  return model;
}

TEST(FeaturesOfAModel, AreSavedAndLoaded) {
  for (const bool biases : {false, true}) {
    const TemporaryFolder folder;
    const Model model = featured(biases);
    save_model(model, folder / "m");
    const Model loaded = load_model(folder / "m");
    const Features& a = model.item_features;
    const Features& b = loaded.item_features;
    EXPECT_TRUE(loaded.user_features.empty());
    expect_same_ids(a.tags, b.tags);
    expect_same_matrix(a.factors, b.factors, "tag factors");
    expect_same_bytes(a.bias.span(), b.bias.span(), "tag bias");
    expect_same_bytes(a.idf.span(), b.idf.span(), "idf");
    expect_same_bytes(a.weights.offsets.span(), b.weights.offsets.span(), "offsets");
    expect_same_bytes(a.weights.columns.span(), b.weights.columns.span(), "columns");
    expect_same_bytes(a.weights.values.span(), b.weights.values.span(), "weights");
    EXPECT_EQ(a.regularization, b.regularization);
    EXPECT_EQ(a.mean_bias, b.mean_bias);
    EXPECT_EQ(b.bias.empty(), !biases);
  }
}

struct FeatureFault {
  const char* name;
  void (*damage)(ModelParts& parts);
  const char* message;
};

const FeatureFault kFeatureFaults[] = {
    {"regularization", [](ModelParts& m) { m.metadata()["item_features"] = "0 0"; },
     "the regularization is 0"},
    {"one number", [](ModelParts& m) { m.metadata()["item_features"] = "1"; }, "not two numbers"},
    {"words", [](ModelParts& m) { m.metadata()["item_features"] = "1 x"; }, "is not a number"},
    {"mean", [](ModelParts& m) { m.metadata()["item_features"] = "1 nan"; }, "item_features"},
    {"ids", [](ModelParts& m) { m.metadata()["item_tag_ids"] = "range"; }, "range needs factors"},
    {"no factors",
     [](ModelParts& m) {
       m.header["renamed"] = m.header["item_tag_factors"];
       m.header.erase("item_tag_factors");
     },
     "item_tag_factors"},
    {"weight", [](ModelParts& m) { m.set<float>("item_tags.weights", 2, 0.0F); },
     "item_tags.weights: one is not above 0"},
    {"idf", [](ModelParts& m) { m.set<float>("item_tag_idf", 1, -1.0F); },
     "item_tag_idf: one is negative"},
    {"tag", [](ModelParts& m) { m.set<Index>("item_tags.columns", 1, 7); },
     "column 7 is outside [0, 2)"},
    {"offset", [](ModelParts& m) { m.set<Offset>("item_tags.offsets", 9, 99); },
     "item_tags.offsets ends at 99"},
    {"infinite", [](ModelParts& m) { m.set<std::uint32_t>("item_tag_factors", 1, 0x7f800000U); },
     "item_tag_factors: row 0"},
};

TEST(FeaturesOfAModel, AreCheckedWhenLoaded) {
  const std::string bytes = saved(featured(true));
  for (const FeatureFault& fault : kFeatureFaults) {
    ModelParts parts(bytes);
    fault.damage(parts);
    EXPECT_THAT(error_of(ErrorKind::kBadData, [&] { (void)model_from_string(parts.sealed()); }),
                HasSubstr(fault.message))
        << fault.name;
  }
}

}  // namespace
}  // namespace likewise::test
