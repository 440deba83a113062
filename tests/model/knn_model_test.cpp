// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "likewise/error.h"
#include "tests/learned.h"
#include "tests/model/model_support.h"

namespace likewise {
namespace {

Model knn_model(Side side) {
  Model model = test::make_model({.factors = 0, .ids = test::Ids::kText});
  model.iterations.clear();
  model.best_iteration = 0;
  KnnParams params = KnnParams::defaults(Feedback::kExplicit);
  params.side = side;
  params.shrinkage = 1.0 / 3.0;
  params.baseline_epochs = 3;
  params.keep_negative = true;
  params.centring = Side::kItems;
  params.neighbours = 2;
  model.params = params;
  model.learned = train_knn(model.history.view(), params, open_device("cpu"));
  return model;
}

TEST(KnnModel, ComesBackAsItWas) {
  for (const Side side : {Side::kUsers, Side::kItems}) {
    const Model model = knn_model(side);
    ASSERT_FALSE(test::lists_of(model).rows.empty());
    const Model back = test::model_from_string(test::saved(model));
    EXPECT_EQ(back.algorithm(), model.algorithm());
    const auto& params = std::get<KnnParams>(back.params);
    test::expect_same_bytes(test::lists_of(back).offsets.span(),
                            test::lists_of(model).offsets.span(), "");
    test::expect_same_bytes(test::lists_of(back).rows.span(), test::lists_of(model).rows.span(),
                            "");
    test::expect_same_bytes(test::lists_of(back).similarities.span(),
                            test::lists_of(model).similarities.span(), "");
    const Biases& found = test::biases_of(back);
    const Biases& biases = test::biases_of(model);
    test::expect_same_bytes(found.users.span(), biases.users.span(), "users");
    test::expect_same_bytes(found.items.span(), biases.items.span(), "items");
    EXPECT_EQ(found.mean, biases.mean);
    EXPECT_EQ(params.side, side);
    EXPECT_EQ(params.shrinkage, 1.0 / 3.0);
    EXPECT_EQ(params.baseline_epochs, 3);
    EXPECT_TRUE(params.keep_negative);
    EXPECT_EQ(params.centring, Side::kItems);
    EXPECT_EQ(params.similarity, Similarity::kPearsonBaseline);
    EXPECT_EQ(params.prediction, Prediction::kBaseline);
    EXPECT_EQ(back.feedback(), Feedback::kExplicit);
    EXPECT_EQ(test::saved(back), test::saved(model)) << "every parameter is in the file";
  }
}

template <class Break>
void expect_refused(const std::string& part_of_message, const Break& change) {
  test::ModelParts parts(test::saved(knn_model(Side::kItems)));
  change(parts);
  try {
    (void)test::model_from_string(parts.sealed());
    FAIL() << "loaded, but " << part_of_message;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadData);
    EXPECT_NE(std::string(error.what()).find(part_of_message), std::string::npos) << error.what();
  }
}

TEST(KnnModel, RefusesToPredictFromBaselinesThatAreNotThere) {
  for (const std::string name : {"user_bias", "item_bias"}) {
    expect_refused(name + " has 0 numbers", [&](test::ModelParts& p) {
      p.header["elsewhere"] = p.header.at(name);
      p.header.erase(name);
    });
  }
}

TEST(KnnModel, RefusesBrokenLists) {
  using test::ModelParts;
  expect_refused("cannot have neighbour 9",
                 [](ModelParts& p) { p.set<Index>("neighbours.rows", 0, 9); });
  expect_refused("cannot have neighbour -1",
                 [](ModelParts& p) { p.set<Index>("neighbours.rows", 0, -1); });
  expect_refused("not finite", [](ModelParts& p) {
    p.set<float>("neighbours.similarities", 0, std::numeric_limits<float>::infinity());
  });
  expect_refused("does not start at 0",
                 [](ModelParts& p) { p.set<Offset>("neighbours.offsets", 0, -1); });
  expect_refused("falls after row",
                 [](ModelParts& p) { p.set<Offset>("neighbours.offsets", 2, Offset{1} << 40); });
  expect_refused("ends at",
                 [](ModelParts& p) { p.set<Offset>("neighbours.offsets", 9, Offset{1} << 40); });
  expect_refused("those of item-knn, in a model of user-knn",
                 [](ModelParts& p) { p.metadata()["algorithm"] = "user-knn"; });
  expect_refused("'neighbours.rows' is missing", [](ModelParts& p) {
    p.header["elsewhere"] = p.header["neighbours.rows"];
    p.header.erase("neighbours.rows");
  });
}

}  // namespace
}  // namespace likewise
