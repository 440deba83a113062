// SPDX-License-Identifier: Apache-2.0
#include "likewise/recommender.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/device.h"
#include "likewise/training.h"
#include "tests/errors.h"
#include "tests/learned.h"
#include "tests/support.h"

namespace likewise {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using List = std::vector<Index>;

void fill(Matrix& m, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  for (Index r = 0; r < m.rows(); ++r) {
    for (float& x : m.row_span(r)) x = normal(random);
  }
}

void fill(Array<float>& values, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  for (float& x : values) x = normal(random);
}

/// A model with random factors; explicit feedback gets mean and biases.
Model random_model(Index users, Index items, Index factors, Feedback feedback) {
  std::mt19937_64 random(7);
  Model model;
  model.users = IdMap::range(users);
  model.items = IdMap::range(items);
  const auto numbers = [&](Index count) {
    Array<float> result(count);
    fill(result, random);
    return result;
  };
  if (factors > 0) {
    model.params = AlsParams{.feedback = feedback, .factors = factors, .regularization = 0.3};
    Factors learned{Matrix(users, factors), Matrix(items, factors), {}, {}, 0.0F};
    fill(learned.users, random);
    fill(learned.items, random);
    if (feedback == Feedback::kExplicit) {
      learned.item_bias = numbers(items);
      learned.user_bias = numbers(users);
      learned.global_mean = 3.5F;
    }
    model.learned = std::move(learned);
  } else {
    model.params = PopularParams{feedback};
    model.learned = Popularity{numbers(items)};
  }
  model.history = test::random_csr(users, items, 6.0, 3);
  return model;
}

/// Of ratings as they come, whatever the scale of the history is.
Recommender recommender_of(Model model) {
  const std::optional<bool> clip =
      model.predicts_ratings() ? std::optional<bool>(false) : std::nullopt;
  return {std::make_shared<const Model>(std::move(model)), open_device("cpu"), clip};
}

std::vector<Index> ids_up_to(Index count) {
  std::vector<Index> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), 0);
  return result;
}

/// The answer the slow way: every pair through predict(), filters by hand.
std::vector<Scored> expected(const Recommender& r, Index user, const RecommendOptions& options) {
  std::vector<Scored> all;
  const auto seen = r.model().history.view().row_columns(user);
  for (Index i = 0; i < r.model().items.size(); ++i) {
    const auto in = [&](const auto& list) {
      return std::find(list.begin(), list.end(), i) != list.end();
    };
    if ((!options.include_seen && in(seen)) || in(options.deny)) continue;
    if (!options.allow.empty() && !in(options.allow)) continue;
    all.push_back({i, r.predict(List{user}, List{i})[0]});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Scored& a, const Scored& b) { return a.score > b.score; });
  all.resize(std::min(all.size(), static_cast<std::size_t>(options.n)));
  return all;
}

TEST(Recommender, RecommendsWhatPredictRanksFirst) {
  const std::vector<Index> allow{3, 4, 5, 9, 20, 39};
  const std::vector<Index> deny{0, 4, 9, 17};
  for (const auto& [feedback, factors] :
       {std::pair{Feedback::kImplicit, 5}, {Feedback::kExplicit, 5}, {Feedback::kImplicit, 0}}) {
    const Recommender r = recommender_of(random_model(30, 40, factors, feedback));
    for (const RecommendOptions& options :
         {RecommendOptions{4, false, {}, {}}, RecommendOptions{100, false, {}, {}},
          RecommendOptions{4, true, {}, {}}, RecommendOptions{4, false, allow, {}},
          RecommendOptions{4, false, {}, deny}, RecommendOptions{4, true, allow, deny}}) {
      const std::vector<Index> users = ids_up_to(30);
      const TopKResult top = r.recommend(users, options);
      ASSERT_EQ(top.k, std::min(options.n, 40));
      for (const Index u : users) {
        const auto want = expected(r, u, options);
        ASSERT_EQ(top.counts[u], static_cast<Index>(want.size()));
        for (std::size_t e = 0; e < want.size(); ++e) {
          const Offset at = Offset{u} * top.k + static_cast<Offset>(e);
          EXPECT_EQ(top.items[at], want[e].index);
          EXPECT_NEAR(top.scores[at], want[e].score, 2e-6);
        }
      }
    }
  }
}

TEST(Recommender, ManyBatchesAreOneAnswer) {
  const Recommender r = recommender_of(random_model(40, 60, 4, Feedback::kExplicit));
  std::vector<Index> users(20000);
  for (std::size_t u = 0; u < users.size(); ++u) users[u] = static_cast<Index>(u * 7 % 40);
  Offset last = 0;
  RunControl control;
  control.on_progress = [&](const ProgressUpdate& update) {
    EXPECT_GT(update.done, last);
    EXPECT_EQ(update.total, 20000);
    last = update.done;
  };
  const TopKResult many = r.recommend(users, {.n = 3}, control);
  EXPECT_EQ(last, 20000);
  const TopKResult each = r.recommend(ids_up_to(40), {.n = 3});
  for (std::size_t u = 0; u < users.size(); ++u) {
    for (Offset e = 0; e < 3; ++e) {
      ASSERT_EQ(many.items[static_cast<Offset>(u) * 3 + e], each.items[users[u] * 3 + e]);
    }
  }
  EXPECT_EQ(r.recommend({}, {.n = 3}).counts.size(), 0);
}

TEST(Recommender, SimilarRowsByCosineAndDot) {
  Model model = random_model(20, 35, 6, Feedback::kImplicit);
  std::fill_n(test::factors_of(model).items.row(8), 6, 0.0F);
  std::copy_n(test::factors_of(model).items.row(3), 6, test::factors_of(model).items.row(4));
  const Recommender r = recommender_of(std::move(model));
  const TopKResult cosine = r.similar(Side::kItems, ids_up_to(35), 34, SimilarityMetric::kCosine);
  EXPECT_EQ(cosine.items[3 * 34], 4);
  EXPECT_NEAR(cosine.scores[3 * 34], 1.0F, 1e-6);
  for (Index i = 0; i < 35; ++i) {
    ASSERT_EQ(cosine.counts[i], i == 8 ? 0 : 34);  // nothing is like a row of zeros
    for (Offset e = 0; e < cosine.counts[i]; ++e) {
      const Index j = cosine.items[i * 34 + e];
      const float score = cosine.scores[i * 34 + e];
      EXPECT_NE(j, i);
      EXPECT_LE(std::abs(score), 1.0F);
      if (i == 8 || j == 8) {
        EXPECT_EQ(score, 0.0F);
      }
      if (e > 0) {
        EXPECT_LE(score, cosine.scores[i * 34 + e - 1]);
      }
    }
  }
  const TopKResult dot = r.similar(Side::kUsers, List{5}, 1, SimilarityMetric::kDot);
  const auto x = test::factors_of(r.model()).users.row_span(5);
  float best = -1e9F;
  for (Index u = 0; u < 20; ++u) {
    const auto y = test::factors_of(r.model()).users.row_span(u);
    if (u != 5) best = std::max(best, std::inner_product(x.begin(), x.end(), y.begin(), 0.0F));
  }
  EXPECT_NEAR(dot.scores[0], best, 1e-5);
}

TEST(Recommender, SimilarRowsByDistance) {
  Model model = random_model(20, 35, 6, Feedback::kImplicit);
  std::copy_n(test::factors_of(model).items.row(3), 6, test::factors_of(model).items.row(4));
  const Recommender r = recommender_of(std::move(model));
  const Matrix& items = test::factors_of(r.model()).items;
  const TopKResult near = r.similar(Side::kItems, ids_up_to(35), 34, SimilarityMetric::kEuclidean);
  EXPECT_EQ(near.items[3 * 34], 4);
  EXPECT_EQ(near.scores[3 * 34], 0.0F);
  for (Index i = 0; i < 35; ++i) {
    ASSERT_EQ(near.counts[i], 34);
    for (Offset e = i * 34; e < i * 34 + 34; ++e) {
      double squares = 0.0;
      for (Index j = 0; j < 6; ++j) {
        const double difference = double{items.row(i)[j]} - double{items.row(near.items[e])[j]};
        squares += difference * difference;
      }
      EXPECT_FLOAT_EQ(near.scores[e], static_cast<float>(std::sqrt(squares)));
      EXPECT_NE(near.items[e], i);
      if (e > i * 34) {
        EXPECT_GE(near.scores[e], near.scores[e - 1]);
      }
    }
  }
}

/// Factors are signed where nothing kept them from it: Hellinger says which is the first. Of
/// others it is the distance of their roots.
TEST(Recommender, HellingerIsOfFactorsWithoutNegativeNumbers) {
  Model model = random_model(20, 35, 6, Feedback::kImplicit);
  for (Index i = 0; i < 35; ++i) {
    for (float& x : test::factors_of(model).items.row_span(i)) x = x * x;
  }
  test::factors_of(model).users.row(0)[5] = 1.0F;
  for (float& x : test::factors_of(model).users.row_span(0)) x = std::abs(x);
  test::factors_of(model).users.row(1)[0] = -0.5F;
  Model roots = random_model(20, 35, 6, Feedback::kImplicit);
  for (Index i = 0; i < 35; ++i) {
    for (float& x : test::factors_of(roots).items.row_span(i)) x = std::abs(x);
  }
  const Recommender squares = recommender_of(std::move(model));
  const Recommender plain = recommender_of(std::move(roots));
  const TopKResult found =
      squares.similar(Side::kItems, ids_up_to(35), 10, SimilarityMetric::kHellinger);
  const TopKResult wanted =
      plain.similar(Side::kItems, ids_up_to(35), 10, SimilarityMetric::kEuclidean);
  EXPECT_TRUE(std::equal(found.items.begin(), found.items.end(), wanted.items.begin()));
  for (Offset e = 0; e < found.scores.size(); ++e) {
    EXPECT_NEAR(found.scores[e], wanted.scores[e] * wanted.scores[e], 1e-5F);
  }
  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT(
        test::error_of(
            ErrorKind::kInvalidArgument,
            [&] { (void)squares.similar(Side::kUsers, List{7}, 1, SimilarityMetric::kHellinger); }),
        AllOf(HasSubstr("user factors: row 1 (id '"),
              HasSubstr("column 0: the number -0.5 is negative"), HasSubstr("euclidean")));
  }
}

TEST(Recommender, PredictFallsBackForUnknownSides) {
  const Recommender r = recommender_of(random_model(5, 6, 3, Feedback::kExplicit));
  const Factors& f = test::factors_of(r.model());
  const std::vector<Index> users{-1, 2, -1, 2};
  const std::vector<Index> items{-1, -1, 4, 4};
  const std::vector<float> p = r.predict(users, items);
  EXPECT_FLOAT_EQ(p[0], f.global_mean);
  EXPECT_FLOAT_EQ(p[1], f.global_mean + f.user_bias[2]);
  EXPECT_FLOAT_EQ(p[2], f.global_mean + f.item_bias[4]);
  double dot = 0.0;
  for (Index j = 0; j < 3; ++j) dot += double{f.users.row(2)[j]} * double{f.items.row(4)[j]};
  EXPECT_NEAR(p[3], f.global_mean + f.user_bias[2] + f.item_bias[4] + dot, 1e-5);
  std::vector<float> all(12);
  r.score_all(List{2, 0}, all.data());
  EXPECT_NEAR(all[4], p[3], 1e-6);
  EXPECT_NEAR(all[6], r.predict(List{0}, List{0})[0], 1e-6);
}

TEST(Recommender, PredictedRatingsStayOnTheScaleOfTheTrainingValues) {
  Model made = random_model(5, 6, 3, Feedback::kExplicit);
  test::factors_of(made).global_mean = 4.5F;
  for (float& value : made.history.values) value = value < 3.0F ? 2.0F : 4.0F;
  const Device cpu = open_device("cpu");
  const auto model = std::make_shared<const Model>(std::move(made));
  const Recommender free(model, cpu, false);
  const std::vector<Index> users{-1, 2, 0, 1, 2, 3, 4};
  const std::vector<Index> items{-1, -1, 1, 5, 3, 2, 0};
  std::vector<float> wanted = free.predict(users, items);
  EXPECT_EQ(wanted[0], 4.5F);
  for (float& one : wanted) one = std::clamp(one, 2.0F, 4.0F);
  const FoldInRow stranger{{1, 4}, {4.0F, 4.0F}};
  const std::vector<Index> asked{0, 2, 5};
  std::vector<float> of_stranger = free.predict_new({&stranger, 1}, asked);
  EXPECT_GT(*std::ranges::max_element(of_stranger), 4.0F);
  for (float& one : of_stranger) one = std::clamp(one, 2.0F, 4.0F);
  for (const std::optional<bool> clip : {std::optional<bool>(), std::optional<bool>(true)}) {
    const Recommender r(model, cpu, clip);
    EXPECT_EQ(r.predict(users, items), wanted);
    EXPECT_EQ(r.predict_new({&stranger, 1}, asked), of_stranger);
    // Lists say by how much the best is better.
    EXPECT_TRUE(std::ranges::equal(r.recommend(List{0}, {.n = 6}).scores,
                                   free.recommend(List{0}, {.n = 6}).scores));
  }
  Model without = random_model(5, 6, 3, Feedback::kExplicit);
  without.history = CsrMatrix{};
  const Recommender unknown(std::make_shared<const Model>(std::move(without)), cpu);
  EXPECT_EQ(unknown.predict(List{-1}, List{-1})[0], 3.5F) << "a scale that nobody knows";
  const auto ranks = std::make_shared<const Model>(random_model(5, 6, 3, Feedback::kImplicit));
  EXPECT_THAT(
      test::error_of(ErrorKind::kInvalidArgument, [&] { (void)Recommender(ranks, cpu, true); }),
      HasSubstr("clip would do nothing"));
}

/// A model that was trained without may be asked with, and the other way round.
TEST(Recommender, AllKindsOfModelsClipAlike) {
  const Device cpu = open_device("cpu");
  const Interactions data{IdMap::range(40), IdMap::range(30), test::random_csr(40, 30, 6.0, 3), {}};
  std::vector<Index> users;
  std::vector<Index> items;
  for (Index u = 0; u < 40; ++u) {
    for (Index i = 0; i < 30; ++i) users.push_back(u), items.push_back(i);
  }
  KnnParams knn = KnnParams::defaults(Feedback::kExplicit);
  BiasParams bias{.baseline_user_regularization = 0.0, .baseline_item_regularization = 0.0};
  for (const bool trained : {true, false}) {
    knn.clip = bias.clip = trained;
    for (const TrainingParams& params : std::vector<TrainingParams>{
             knn, bias,
             SgdParams{.factors = 4, .iterations = 3, .regularization = 0.0, .init_stddev = 3.0},
             AlsParams{.feedback = Feedback::kExplicit, .factors = 4, .regularization = 0.01}}) {
      const auto model = std::make_shared<const Model>(train(data, params, cpu));
      const std::vector<float> free = Recommender(model, cpu, false).predict(users, items);
      std::vector<float> wanted = free;
      for (float& one : wanted) one = std::clamp(one, 1.0F, 5.0F);
      EXPECT_NE(wanted, free) << model->algorithm();
      EXPECT_EQ(Recommender(model, cpu, true).predict(users, items), wanted);
      const bool without = !trained && (model->knn() != nullptr || model->biases() != nullptr);
      EXPECT_EQ(Recommender(model, cpu).predict(users, items), without ? free : wanted);
    }
  }
}

TEST(Recommender, SomebodyWhoLikesNothingGetsAListOnlyWhereThereIsAnOrderForEverybody) {
  const std::vector<FoldInRow> rows{{}, {{1, 4}}, {}};
  const auto counts = [&](Model model) {
    const TopKResult found = recommender_of(std::move(model)).recommend_new(rows, {.n = 2});
    return std::vector<Index>(found.counts.begin(), found.counts.end());
  };
  EXPECT_EQ(counts(random_model(5, 6, 3, Feedback::kImplicit)), (std::vector<Index>{0, 2, 0}));
  EXPECT_EQ(counts(random_model(5, 6, 3, Feedback::kExplicit)), (std::vector<Index>{2, 2, 2}));
  EXPECT_EQ(counts(random_model(5, 6, 0, Feedback::kImplicit)), (std::vector<Index>{2, 2, 2}));
}

TEST(Recommender, AUserWhomNothingIsKnownOfGetsAnEmptyList) {
  Model model = random_model(5, 6, 3, Feedback::kImplicit);
  std::fill_n(test::factors_of(model).users.row(2), 3, 0.0F);
  const TopKResult found =
      recommender_of(std::move(model)).recommend(ids_up_to(5), {.n = 2, .include_seen = true});
  EXPECT_EQ(std::vector<Index>(found.counts.begin(), found.counts.end()),
            (std::vector<Index>{2, 2, 0, 2, 2}));
}

TEST(Recommender, ModelWithoutFactorsSaysWhatItCannotDo) {
  const Recommender r = recommender_of(random_model(5, 6, 0, Feedback::kImplicit));
  EXPECT_EQ(r.recommend(List{0}, {.n = 2, .include_seen = true}).counts[0], 2);
  EXPECT_FLOAT_EQ(r.predict(List{1}, List{3})[0],
                  std::get<Popularity>(r.model().learned).shares[3]);
  const FoldInRow likes{{1, 4}, {}};  // a new user too
  EXPECT_EQ(r.recommend_new({&likes, 1}, {.n = 6}).counts[0], 4);
  const FoldInRow row{{1}, {}};
  for (const auto& refused : std::vector<std::function<void()>>{
           [&] { (void)r.similar(Side::kItems, List{0}, 2, SimilarityMetric::kCosine); },
           [&] {
             (void)r.fold_in(Side::kUsers, {&row, 1});
           },
           [&] { (void)r.explain(row, 2); }}) {
    try {
      refused();
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find("popular"), std::string::npos);
    }
  }
}

/// What is solved for new rows are the equations of ALS: factors of another algorithm have others.
TEST(Recommender, FactorsOfAnotherAlgorithmAreNotFoldedIn) {
  Model model = random_model(5, 6, 3, Feedback::kImplicit);
  model.params = PopularParams{};  // stands for an algorithm to come
  const Recommender r = recommender_of(std::move(model));
  EXPECT_EQ(r.recommend(List{0}, {.n = 2, .include_seen = true}).counts[0], 2);
  const FoldInRow row{{1}, {}};
  const auto why = test::error_of(ErrorKind::kInvalidArgument, [&] {
    (void)r.fold_in(Side::kUsers, {&row, 1});
  });
  EXPECT_NE(why.find("popular"), std::string::npos) << why;
  EXPECT_EQ(test::error_of(ErrorKind::kInvalidArgument, [&] { (void)r.explain(row, 2); }), why);
}

TEST(Recommender, FaultsAreNamed) {
  const Recommender r = recommender_of(random_model(5, 6, 3, Feedback::kImplicit));
  const std::vector<Index> outside{6};
  EXPECT_THROW((void)r.recommend(List{5}, {}), Error);
  EXPECT_THROW((void)r.recommend(List{-1}, {}), Error);
  EXPECT_THROW((void)r.recommend(List{0}, {.n = 0}), Error);
  EXPECT_THROW((void)r.recommend(List{0}, {.n = 1, .allow = outside}), Error);
  EXPECT_THROW((void)r.recommend(List{0}, {.n = 1, .deny = outside}), Error);
  EXPECT_THROW((void)r.similar(Side::kItems, List{6}, 1, SimilarityMetric::kDot), Error);
  EXPECT_THROW((void)r.similar(Side::kItems, List{0}, 0, SimilarityMetric::kDot), Error);
  EXPECT_THROW((void)r.predict(List{0, 1}, List{0}), Error);
  EXPECT_THROW((void)r.predict(List{-2}, List{0}), Error);
  EXPECT_THROW((void)r.explain({{1}, {}}, 6), Error);
  for (const FoldInRow& bad : {FoldInRow{{6}, {}}, FoldInRow{{1, 1}, {}}, FoldInRow{{1}, {1, 2}},
                               FoldInRow{{1}, {std::nanf("")}}}) {
    EXPECT_THROW((void)r.fold_in(Side::kUsers, {&bad, 1}), Error);
  }
  Model broken = random_model(5, 6, 3, Feedback::kImplicit);
  test::factors_of(broken).item_bias = Array<float>(5);
  EXPECT_THROW((void)recommender_of(std::move(broken)), Error);
}

}  // namespace
}  // namespace likewise
