// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "algorithms/knn/similarity.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/error.h"
#include "likewise/model.h"
#include "likewise/recommender.h"
#include "tests/learned.h"
#include "tests/support.h"

namespace likewise {
namespace {

constexpr Index kUsers = 40;
constexpr Index kItems = 30;

std::shared_ptr<Model> make_model(const KnnParams& params) {
  auto model = std::make_shared<Model>();
  model->users = IdMap::range(kUsers);
  model->items = IdMap::range(kItems);
  model->history = test::random_csr(kUsers, kItems, 9.0, 5);
  model->params = params;
  model->learned = train_knn(model->history.view(), params, open_device("reference"));
  return model;
}

KnnParams rating_params(Side side, Prediction prediction) {
  KnnParams params = KnnParams::defaults(Feedback::kExplicit);
  params.side = side;
  params.similarity = Similarity::kMsd;
  params.prediction = prediction;
  params.neighbours = 4;
  params.min_neighbours = 2;
  return params;
}

/// A prediction by its definition in math.md, every number looked up again.
class Definition {
 public:
  explicit Definition(const Model& model)
      : model_(model),
        params_(std::get<KnnParams>(model.params)),
        by_item_(transpose(model.history.view())),
        problem_(model.history.view(), params_, test::biases_of(model)) {
    const auto rows = static_cast<std::size_t>(test::lists_of(model).size());
    similarities_.resize(rows * rows);
    job<KnnJob>(open_device("reference"))
        .make_search(problem_)
        ->similarities(problem_.rows(), similarities_.data());
  }

  [[nodiscard]] double predict(Index user, Index item) const {
    const bool of_users = params_.side == Side::kUsers;
    const Index x = of_users ? user : item;
    const CsrView raters = of_users ? by_item_.view() : model_.history.view();
    const Index column = of_users ? item : user;
    const auto having = raters.row_columns(column);
    const auto entry_of = [&](Index row) {
      return std::ranges::lower_bound(having, row) - having.begin();
    };
    const auto has = [&](Index row) {
      return std::binary_search(having.begin(), having.end(), row);
    };
    const Index rows = test::lists_of(model_).size();
    const CsrView compared = of_users ? model_.history.view() : by_item_.view();
    std::vector<std::pair<double, Index>> near;  // (-similarity, row)
    for (Index v = 0; v < rows; ++v) {
      const float s = similarities_[static_cast<std::size_t>(Offset{x} * rows + v)];
      const bool neighbour = params_.keep_negative ? s != 0.0F : s > 0.0F;
      const bool asked = params_.predict_from == PredictFrom::kKept || has(v);
      if (v != x && neighbour && asked) near.emplace_back(-double{s}, v);
    }
    std::sort(near.begin(), near.end());
    if (params_.predict_from == PredictFrom::kKept) {
      // Of those that are equally similar, the ones with more common entries are kept.
      const auto common = [&](Index v) {
        std::vector<Index> both;
        std::ranges::set_intersection(compared.row_columns(x), compared.row_columns(v),
                                      std::back_inserter(both));
        return both.size();
      };
      std::ranges::stable_sort(near, [&](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : common(a.second) > common(b.second);
      });
    }
    if (params_.predict_from != PredictFrom::kAll) {
      near.resize(std::min(near.size(), static_cast<std::size_t>(params_.neighbours)));
    }
    std::erase_if(near, [&](const auto& one) { return !has(one.second); });
    double sum = 0.0;
    double weights = 0.0;
    for (const auto& [negative, v] : near) {
      const double value = double{raters.row_values(column)[static_cast<std::size_t>(entry_of(v))]};
      sum -= negative * deviation(v, column, value);
      weights += std::abs(negative);
    }
    const bool fall_back = std::ssize(near) < params_.min_neighbours;
    const Level level = level_of(x);
    switch (params_.prediction) {
      case Prediction::kMean:
        return fall_back ? total_mean() : sum / weights;
      case Prediction::kCentred:
        return level.mean + (fall_back ? 0.0 : sum / weights);
      case Prediction::kZScore:
        return level.mean + (fall_back ? 0.0 : level.sigma * sum / weights);
      default:
        return baseline(x, column) + (fall_back ? 0.0 : sum / weights);
    }
  }

 private:
  struct Level {
    double mean;
    double sigma;
  };
  [[nodiscard]] Level level_of(Index row) const {
    const CsrView rows = params_.side == Side::kUsers ? model_.history.view() : by_item_.view();
    const auto values = rows.row_values(row);
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / std::size(values);
    double squares = 0.0;
    for (const float v : values) squares += (v - mean) * (v - mean);
    return {mean, std::sqrt(squares / static_cast<double>(std::size(values)))};
  }
  [[nodiscard]] double total_mean() const {
    const auto& v = model_.history.values;
    return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
  }
  [[nodiscard]] double baseline(Index row, Index column) const {
    const Biases& b = test::biases_of(model_);
    const bool of_users = params_.side == Side::kUsers;
    return double{b.mean} + double{b.users[of_users ? row : column]} +
           double{b.items[of_users ? column : row]};
  }
  [[nodiscard]] double deviation(Index row, Index column, double value) const {
    const Level level = level_of(row);
    switch (params_.prediction) {
      case Prediction::kCentred:
        return value - level.mean;
      case Prediction::kZScore:
        return (value - level.mean) / level.sigma;
      case Prediction::kBaseline:
        return value - baseline(row, column);
      default:
        return value;
    }
  }

  const Model& model_;
  const KnnParams& params_;
  CsrMatrix by_item_;
  SimilarityProblem problem_;
  std::vector<float> similarities_;
};

std::vector<Index> range(Index count) {
  std::vector<Index> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

class Ratings : public testing::TestWithParam<std::tuple<Side, Prediction, PredictFrom>> {
 protected:
  static KnnParams params() {
    const auto& [side, prediction, from] = GetParam();
    KnnParams params = rating_params(side, prediction);
    params.predict_from = from;
    return params;
  }
};

TEST_P(Ratings, AreThoseOfTheDefinitionHoweverAsked) {
  KnnParams asked = params();
  asked.clip = false;
  const auto model = make_model(asked);
  const Definition definition(*model);
  const Recommender recommender(model, open_device("cpu"));
  std::vector<float> all(static_cast<std::size_t>(kUsers * kItems));
  recommender.score_all(range(kUsers), all.data());
  for (Index u = 0; u < kUsers; ++u) {
    for (Index i = 0; i < kItems; ++i) {
      const float one = recommender.predict(std::span(&u, 1), std::span(&i, 1)).front();
      ASSERT_NEAR(one, definition.predict(u, i), 2e-6) << "user " << u << " item " << i;
      ASSERT_EQ(one, all[static_cast<std::size_t>(u * kItems + i)]);
    }
  }
}

TEST_P(Ratings, NegativeSimilaritiesWeighByTheirSize) {
  KnnParams asked = params();
  asked.clip = false;
  asked.similarity = Similarity::kPearsonFull;
  asked.keep_negative = true;
  asked.neighbours = 25;
  const auto model = make_model(asked);
  const Definition definition(*model);
  const Recommender recommender(model, open_device("cpu"));
  std::vector<float> all(static_cast<std::size_t>(kUsers * kItems));
  recommender.score_all(range(kUsers), all.data());
  for (Index u = 0; u < kUsers; ++u) {
    for (Index i = 0; i < kItems; ++i) {
      ASSERT_NEAR(all[static_cast<std::size_t>(u * kItems + i)], definition.predict(u, i), 5e-6)
          << "user " << u << " item " << i;
    }
  }
}

TEST_P(Ratings, EveryMissingCellComesOnce) {
  const auto model = make_model(params());
  const Recommender recommender(model, open_device("cpu"));
  std::map<std::pair<Index, Index>, float> cells;
  (void)recommender.predict_missing([&](Side of, Index row, std::span<const Index> others,
                                        std::span<const float> values) {
    for (std::size_t e = 0; e < others.size(); ++e) {
      const auto cell = of == Side::kUsers ? std::pair(row, others[e]) : std::pair(others[e], row);
      EXPECT_TRUE(cells.emplace(cell, values[e]).second);
    }
  });
  EXPECT_EQ(std::ssize(cells), Offset{kUsers} * kItems - model->history.nnz());
  for (const auto& [cell, value] : cells) {
    const auto& [user, item] = cell;
    const auto items = model->history.view().row_columns(user);
    EXPECT_FALSE(std::binary_search(items.begin(), items.end(), item));
    EXPECT_EQ(value, recommender.predict(std::span(&user, 1), std::span(&item, 1)).front());
    EXPECT_TRUE(value >= 1.0F && value <= 5.0F) << "clipped to the scale";
  }
}

TEST_P(Ratings, TheUnknownGetWhatIsKnownOfTheOtherSide) {
  const auto model = make_model(params());
  const Recommender recommender(model, open_device("cpu"));
  const std::vector<Index> users{-1, -1, 3};
  const std::vector<Index> items{-1, 4, -1};
  const std::vector<float> found = recommender.predict(users, items);
  const double sum =
      std::accumulate(model->history.values.begin(), model->history.values.end(), 0.0);
  const double mean = sum / static_cast<double>(model->history.nnz());
  const bool biased = std::get<Prediction>(GetParam()) == Prediction::kBaseline;
  EXPECT_NEAR(found[0], mean, 1e-6);
  EXPECT_NEAR(found[1], mean + (biased ? test::biases_of(*model).items[4] : 0.0F), 1e-6);
  EXPECT_NEAR(found[2], mean + (biased ? test::biases_of(*model).users[3] : 0.0F), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(
    Sides, Ratings,
    testing::Combine(testing::Values(Side::kUsers, Side::kItems),
                     testing::Values(Prediction::kMean, Prediction::kCentred, Prediction::kZScore,
                                     Prediction::kBaseline),
                     testing::Values(PredictFrom::kRated, PredictFrom::kKept, PredictFrom::kAll)));

/// To item-knn a copy of a user is that user, alone or among others.
TEST(KnnPredictor, OutsideUsersGetTheRatingsOfTheirCopies) {
  for (const PredictFrom from : {PredictFrom::kRated, PredictFrom::kKept, PredictFrom::kAll}) {
    KnnParams params = rating_params(Side::kItems, Prediction::kZScore);
    params.predict_from = from;
    const auto model = make_model(params);
    const Recommender recommender(model, open_device("cpu"));
    std::vector<float> all(static_cast<std::size_t>(kUsers * kItems));
    recommender.score_all(range(kUsers), all.data());
    std::vector<FoldInRow> copies;
    for (Index u = 0; u < kUsers; ++u) {
      const auto items = model->history.view().row_columns(u);
      const auto values = model->history.view().row_values(u);
      copies.push_back({{items.begin(), items.end()}, {values.begin(), values.end()}});
    }
    EXPECT_EQ(recommender.predict_new(copies, range(kItems)), all);
    EXPECT_EQ(recommender.predict_new(std::span(copies).first(1), range(kItems)),
              std::vector<float>(all.begin(), all.begin() + kItems));
  }
}

/// A copy of a user is nearest to that user, whose ratings then are the answer.
TEST(KnnPredictor, OutsideUsersKeepTheirNearest) {
  KnnParams params = rating_params(Side::kUsers, Prediction::kMean);
  params.predict_from = PredictFrom::kKept;
  params.neighbours = 1;
  params.min_neighbours = 1;
  const auto model = make_model(params);
  const Recommender recommender(model, open_device("cpu"));
  const auto items = model->history.view().row_columns(9);
  const auto values = model->history.view().row_values(9);
  const FoldInRow copy{{items.begin(), items.end()}, {values.begin(), values.end()}};
  const std::vector<float> found = recommender.predict_new(std::span(&copy, 1), range(kItems));
  const double mean = recommender.predict(std::vector<Index>{-1}, std::vector<Index>{-1})[0];
  for (Index item = 0; item < kItems; ++item) {
    const auto at = std::ranges::lower_bound(items, item);
    const bool has = at != items.end() && *at == item;
    EXPECT_NEAR(found[static_cast<std::size_t>(item)],
                has ? double{values[static_cast<std::size_t>(at - items.begin())]} : mean, 1e-6);
  }
}

TEST(KnnPredictor, AnswersOneRowAndNone) {
  for (const Side side : {Side::kUsers, Side::kItems}) {
    for (const PredictFrom from : {PredictFrom::kRated, PredictFrom::kKept, PredictFrom::kAll}) {
      for (const bool one_user : {true, false}) {
        KnnParams params = rating_params(side, Prediction::kCentred);
        params.predict_from = from;
        auto model = std::make_shared<Model>();
        const Index users = one_user ? 1 : 5;
        const Index items = one_user ? 5 : 1;
        model->users = IdMap::range(users);
        model->items = IdMap::range(items);
        const Index last = (one_user ? items : users) - 1;
        model->history =
            test::make_csr(users, items,
                           one_user ? std::vector<test::Entry>{{0, 0, 2.0F}, {0, last, 4.0F}}
                                    : std::vector<test::Entry>{{0, 0, 2.0F}, {last, 0, 4.0F}});
        model->params = params;
        model->learned = train_knn(model->history.view(), params, open_device("cpu"));
        const Recommender recommender(model, open_device("cpu"));
        Offset cells = 0;
        (void)recommender.predict_missing(
            [&](Side, Index, std::span<const Index> others, std::span<const float> values) {
              cells += std::ssize(others);
              for (const float value : values) EXPECT_EQ(value, 3.0F) << "nobody to ask: a mean";
            });
        EXPECT_EQ(cells, 3);
      }
    }
  }
}

TEST(KnnPredictor, SumsAddUpOverKeptNeighbours) {
  for (const Side side : {Side::kUsers, Side::kItems}) {
    KnnParams params;
    params.side = side;
    params.neighbours = 5;
    const auto model = make_model(params);
    const Recommender recommender(model, open_device("cpu"));
    const CsrView history = model->history.view();
    std::vector<double> expected(static_cast<std::size_t>(kUsers * kItems), 0.0);
    const auto add = [&](Index user, Index item, double value) {
      expected[static_cast<std::size_t>(user * kItems + item)] += value;
    };
    for (Index row = 0; row < test::lists_of(*model).size(); ++row) {
      for (std::size_t e = 0; e < test::lists_of(*model).rows_of(row).size(); ++e) {
        const Index near = test::lists_of(*model).rows_of(row)[e];
        const double s = test::lists_of(*model).similarities_of(row)[e];
        for (Index u = 0; u < kUsers; ++u) {
          for (Offset at = history.offsets[u]; at < history.offsets[u + 1]; ++at) {
            const Index item = history.columns[at];
            if (side == Side::kItems && item == row) add(u, near, s * history.values[at]);
            if (side == Side::kUsers && u == near) add(row, item, s * history.values[at]);
          }
        }
      }
    }
    std::vector<float> all(expected.size());
    recommender.score_all(range(kUsers), all.data());
    for (std::size_t at = 0; at < all.size(); ++at) ASSERT_NEAR(all[at], expected[at], 1e-5);
    const std::vector<Index> users(expected.size(), 7);
    const std::vector<float> pairs = recommender.predict(range(kItems), range(kItems));
    for (Index i = 0; i < kItems; ++i) {
      EXPECT_EQ(pairs[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(i * kItems + i)]);
    }
  }
}

TEST(KnnPredictor, ListsAreTheBestOfTheScores) {
  for (const Side side : {Side::kUsers, Side::kItems}) {
    for (const Prediction prediction : {Prediction::kSum, Prediction::kCentred}) {
      KnnParams params = rating_params(side, prediction);
      if (prediction == Prediction::kSum) params.feedback = Feedback::kImplicit;
      const auto model = make_model(params);
      const Recommender recommender(model, open_device("cpu"));
      std::vector<float> all(static_cast<std::size_t>(kUsers * kItems));
      recommender.score_all(range(kUsers), all.data());
      const std::vector<Index> denied{2, 3};
      const TopKResult top = recommender.recommend(range(kUsers), {.n = 6, .deny = denied});
      for (Index u = 0; u < kUsers; ++u) {
        std::vector<std::pair<float, Index>> expected;
        const auto seen = model->history.view().row_columns(u);
        for (Index i = 0; i < kItems; ++i) {
          if (i == 2 || i == 3 || std::binary_search(seen.begin(), seen.end(), i)) continue;
          expected.emplace_back(-all[static_cast<std::size_t>(u * kItems + i)], i);
        }
        std::sort(expected.begin(), expected.end());
        ASSERT_EQ(top.counts[u], std::min<Index>(6, static_cast<Index>(expected.size())));
        for (Index r = 0; r < top.counts[u]; ++r) {
          EXPECT_EQ(top.items[Offset{u} * top.k + r], expected[static_cast<std::size_t>(r)].second);
        }
      }
    }
  }
}

/// Few users have only their own items compared, many have all.
TEST(KnnPredictor, OneUserIsAnsweredAsAmongMany) {
  for (const Similarity similarity : {Similarity::kPearson, Similarity::kConditional}) {
    KnnParams params = rating_params(Side::kItems, Prediction::kCentred);
    params.similarity = similarity;
    auto model = std::make_shared<Model>();
    model->users = IdMap::range(60);
    model->items = IdMap::range(200);
    model->history = test::random_csr(60, 200, 30.0, 6);
    model->params = params;
    model->learned = train_knn(model->history.view(), params, open_device("cpu"));
    const Recommender recommender(model, open_device("cpu"));
    std::vector<float> all(60 * 200);
    recommender.score_all(range(60), all.data());
    std::vector<float> one(200);
    for (Index u = 0; u < 60; ++u) {
      recommender.score_all(std::span(&u, 1), one.data());
      ASSERT_TRUE(std::equal(one.begin(), one.end(), all.begin() + Offset{u} * 200)) << u;
    }
  }
}

/// An outside user with the ratings of a trained one is that user to item-knn.
TEST(KnnPredictor, FoldsInUsers) {
  for (const Prediction prediction :
       {Prediction::kSum, Prediction::kMean, Prediction::kCentred, Prediction::kZScore}) {
    KnnParams params = rating_params(Side::kItems, prediction);
    const auto model = make_model(params);
    const Recommender recommender(model, open_device("cpu"));
    std::vector<float> all(static_cast<std::size_t>(kUsers * kItems));
    recommender.score_all(range(kUsers), all.data());
    const auto items = model->history.view().row_columns(9);
    const auto values = model->history.view().row_values(9);
    FoldInRow row{{items.rbegin(), items.rend()}, {values.rbegin(), values.rend()}};
    const std::vector<float> found = recommender.predict_new(std::span(&row, 1), range(kItems));
    for (Index i = 0; i < kItems; ++i) {
      EXPECT_NEAR(found[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(9 * kItems + i)],
                  1e-6);
    }
    const TopKResult top = recommender.recommend_new(std::span(&row, 1), {.n = 5});
    const Index nine = 9;
    const TopKResult same = recommender.recommend(std::span(&nine, 1), {.n = 5});
    EXPECT_TRUE(std::equal(top.items.begin(), top.items.end(), same.items.begin()));
  }
}

/// Whatever predicts, pearson-baseline compares what is beyond the baseline of a user, new or not.
TEST(KnnPredictor, ANewUserIsComparedByItsBaseline) {
  std::vector<std::vector<float>> scores;
  for (const Prediction prediction :
       {Prediction::kBaseline, Prediction::kMean, Prediction::kCentred, Prediction::kZScore}) {
    KnnParams params = rating_params(Side::kUsers, prediction);
    params.similarity = Similarity::kPearsonBaseline;
    params.baseline_epochs = 200;  // converged: a new user's bias is that of training
    const auto model = make_model(params);
    const Recommender recommender(model, open_device("cpu"));
    const auto items = model->history.view().row_columns(9);
    const auto values = model->history.view().row_values(9);
    const FoldInRow row{{items.begin(), items.end()}, {values.begin(), values.end()}};
    const TopKResult near = recommender.similar_new(std::span(&row, 1), params.neighbours + 1);
    ASSERT_GT(near.counts[0], 1);
    EXPECT_EQ(near.items[0], 9);  // itself
    const Index nine = 9;
    const TopKResult kept = recommender.similar(Side::kUsers, std::span(&nine, 1),
                                                params.neighbours, SimilarityMetric::kCosine);
    for (Index at = 0; at < kept.counts[0]; ++at) {
      EXPECT_EQ(near.items[at + 1], kept.items[at]);
      EXPECT_NEAR(near.scores[at + 1], kept.scores[at], 1e-4);
    }
    scores.emplace_back(near.scores.begin(), near.scores.end());
    EXPECT_EQ(scores.back(), scores.front());
  }
}

/// To user-knn a user with everybody's ratings doubled is most like the one it was copied from.
TEST(KnnPredictor, FoldsInUsersByTheirNeighbours) {
  KnnParams params;
  params.side = Side::kUsers;
  params.neighbours = 1;
  const auto model = make_model(params);
  const Recommender recommender(model, open_device("cpu"));
  const auto items = model->history.view().row_columns(9);
  const auto values = model->history.view().row_values(9);
  FoldInRow row{{items.begin(), items.end()}, {}};
  for (const float v : values) row.values.push_back(2.0F * v);
  const std::vector<float> found = recommender.predict_new(std::span(&row, 1), range(kItems));
  for (std::size_t e = 0; e < items.size(); ++e) {
    EXPECT_NEAR(found[static_cast<std::size_t>(items[e])], values[e], 1e-6);
  }
  row.columns.push_back(kItems);
  row.values.push_back(1.0F);
  EXPECT_THROW((void)recommender.predict_new(std::span(&row, 1), range(kItems)), Error);
}

TEST(KnnPredictor, ExplainsSums) {
  KnnParams params;
  const auto model = make_model(params);
  const Recommender recommender(model, open_device("cpu"));
  const auto items = model->history.view().row_columns(4);
  const auto values = model->history.view().row_values(4);
  const FoldInRow row{{items.begin(), items.end()}, {values.begin(), values.end()}};
  const TopKResult top = recommender.recommend_new(std::span(&row, 1), {.n = 1});
  const Explanation why = recommender.explain(row, top.items[0]);
  ASSERT_FALSE(why.contributions.empty());
  double sum = 0.0;
  for (const Contribution& part : why.contributions) sum += part.share;
  EXPECT_NEAR(why.score, top.scores[0], 1e-5);
  EXPECT_NEAR(sum, top.scores[0], 1e-5);
}

TEST(KnnPredictor, ExplainsRatings) {
  for (const auto& [prediction, from] : {std::pair(Prediction::kMean, PredictFrom::kRated),
                                         std::pair(Prediction::kCentred, PredictFrom::kRated),
                                         std::pair(Prediction::kZScore, PredictFrom::kRated),
                                         std::pair(Prediction::kBaseline, PredictFrom::kRated),
                                         std::pair(Prediction::kCentred, PredictFrom::kKept)}) {
    KnnParams params = rating_params(Side::kItems, prediction);
    params.predict_from = from;
    if (from == PredictFrom::kKept) params.neighbours = 15;
    params.clip = false;
    const auto model = make_model(params);
    const Recommender recommender(model, open_device("cpu"));
    const auto items = model->history.view().row_columns(4);
    const auto values = model->history.view().row_values(4);
    const FoldInRow row{{items.begin(), items.end()}, {values.begin(), values.end()}};
    const std::vector<float> scores = recommender.predict_new(std::span(&row, 1), range(kItems));
    std::size_t explained = 0;
    for (Index item = 0; item < kItems; ++item) {
      const Explanation why = recommender.explain(row, item);
      double sum = why.baseline;
      for (const Contribution& part : why.contributions) sum += part.share;
      EXPECT_NEAR(why.score, sum, 1e-9);
      EXPECT_NEAR(why.score, scores[static_cast<std::size_t>(item)], 1e-5);
      EXPECT_TRUE(
          std::ranges::is_sorted(why.contributions, std::ranges::greater{}, &Contribution::share));
      EXPECT_LE(std::ssize(why.contributions), params.neighbours);
      explained += why.contributions.empty() ? 0 : 1;
    }
    EXPECT_GT(explained, static_cast<std::size_t>(kItems / 2));
  }
}

TEST(KnnPredictor, UsersAreNoReasons) {
  const auto ratings = make_model(rating_params(Side::kUsers, Prediction::kMean));
  EXPECT_THROW((void)Recommender(ratings, open_device("cpu")).explain({{1}, {4.0F}}, 0), Error);
}

TEST(KnnPredictor, KnowsOneSideOnly) {
  const auto model = make_model(KnnParams{});
  const Recommender recommender(model, open_device("cpu"));
  const Index one = 1;
  const TopKResult near =
      recommender.similar(Side::kItems, std::span(&one, 1), 3, SimilarityMetric::kCosine);
  ASSERT_EQ(near.counts[0], 3);
  EXPECT_EQ(near.items[0], test::lists_of(*model).rows_of(1)[0]);
  EXPECT_EQ(near.scores[2], test::lists_of(*model).similarities_of(1)[2]);
  EXPECT_THROW(
      (void)recommender.similar(Side::kUsers, std::span(&one, 1), 3, SimilarityMetric::kCosine),
      Error);
}

/// A list's similarity of x to y; 0 where y is not in the list of x.
double listed(const KnnLists& lists, Index x, Index y) {
  const auto near = lists.rows_of(x);
  const auto found = std::ranges::find(near, y);
  if (found == near.end()) return 0.0;
  return double{lists.similarities_of(x)[static_cast<std::size_t>(found - near.begin())]};
}

/// A sum by its definition in math.md; `known` is in the history, or is the user.
double pair_of(const KnnLists& lists, SumLists whose, Index known, Index target) {
  const double own = listed(lists, known, target);
  const double reverse = listed(lists, target, known);
  if (whose == SumLists::kOwn) return own;
  if (whose == SumLists::kReverse) return reverse;
  return own != 0.0 ? own : reverse;
}

double value_of(const CsrView& rows, Index row, Index column) {
  const auto columns = rows.row_columns(row);
  const auto found = std::ranges::lower_bound(columns, column);
  if (found == columns.end() || *found != column) return 0.0;
  return double{rows.row_values(row)[static_cast<std::size_t>(found - columns.begin())]};
}

double sum_by_definition(const Model& model, Index user, Index item) {
  const auto& params = std::get<KnnParams>(model.params);
  const KnnLists& lists = test::lists_of(model);
  const CsrView history = model.history.view();
  double sum = 0.0;
  if (params.side == Side::kUsers) {
    for (Index v = 0; v < history.rows; ++v) {
      if (v == user) continue;
      sum += pair_of(lists, params.sum_lists, user, v) * value_of(history, v, item);
    }
    return sum;
  }
  const auto mean = [&](Index i) {
    double total = 0.0;
    for (Index u = 0; u < history.rows; ++u) total += value_of(history, u, i);
    return total / history.rows;
  };
  double divisor = 0.0;
  double centre = 0.0;
  for (Index j = 0; j < history.cols; ++j) {
    sum += pair_of(lists, params.sum_lists, j, item) * value_of(history, user, j);
    divisor += std::abs(listed(lists, item, j));
    centre += listed(lists, item, j) * mean(j);
  }
  if (params.sum_scale == SumScale::kNone) return sum;
  if (params.sum_scale == SumScale::kMean) return divisor > 0.0 ? sum / divisor : 0.0;
  return mean(item) + (divisor > 0.0 ? (sum - centre) / divisor : 0.0);
}

TEST(KnnPredictor, SumsAreThoseOfTheDefinition) {
  for (const Side side : {Side::kUsers, Side::kItems}) {
    for (const Similarity similarity : {Similarity::kCosine, Similarity::kConditional}) {
      for (const auto& [lists, scale] :
           std::vector<std::pair<SumLists, SumScale>>{{SumLists::kOwn, SumScale::kNone},
                                                      {SumLists::kReverse, SumScale::kNone},
                                                      {SumLists::kBoth, SumScale::kNone},
                                                      {SumLists::kOwn, SumScale::kMean},
                                                      {SumLists::kReverse, SumScale::kMean},
                                                      {SumLists::kBoth, SumScale::kMean},
                                                      {SumLists::kReverse, SumScale::kOffset}}) {
        if (side == Side::kUsers && scale != SumScale::kNone) continue;
        KnnParams params{.side = side, .neighbours = 5, .similarity = similarity};
        params.sum_lists = lists;
        params.sum_scale = scale;
        SCOPED_TRACE(testing::Message()
                     << side_name(side) << ", " << kSumListsNames[static_cast<std::size_t>(lists)]
                     << ", " << kSumScaleNames[static_cast<std::size_t>(scale)]);
        const auto model = make_model(params);
        const Recommender recommender(model, open_device("cpu"));
        std::vector<float> all(static_cast<std::size_t>(kUsers * kItems));
        recommender.score_all(range(kUsers), all.data());
        for (Index u = 0; u < kUsers; ++u) {
          for (Index i = 0; i < kItems; ++i) {
            const double score = sum_by_definition(*model, u, i);
            ASSERT_NEAR(all[static_cast<std::size_t>(u * kItems + i)], score, 1e-5)
                << u << ' ' << i;
          }
        }
        if (side == Side::kUsers) continue;
        // Reasons add up, for a user of the model as for the same history from outside.
        const CsrView history = model->history.view();
        const auto columns = history.row_columns(3);
        const auto values = history.row_values(3);
        const Explanation why = recommender.explain(
            {{columns.begin(), columns.end()}, {values.begin(), values.end()}}, 11);
        double told = why.baseline;
        for (const Contribution& part : why.contributions) told += part.share;
        EXPECT_NEAR(told, why.score, 1e-9);
        EXPECT_NEAR(why.score, sum_by_definition(*model, 3, 11), 1e-5);
      }
    }
  }
}

/// A user who was not trained is met as if it had been, as the last one. Likes: many are equally
/// similar.
TEST(KnnPredictor, NewUsersHaveTheNeighboursThatTrainingGives) {
  CsrMatrix history = test::random_csr(kUsers, kItems, 5.0, 8);
  std::ranges::fill(history.values, 1.0F);
  const Index last = kUsers - 1;
  const Offset entries = history.offsets[last];
  for (const SumLists lists : {SumLists::kOwn, SumLists::kReverse, SumLists::kBoth}) {
    KnnParams params{.side = Side::kUsers, .neighbours = 4};
    params.sum_lists = lists;
    const auto model_of = [&](Index users) {
      auto model = std::make_shared<Model>();
      model->users = IdMap::range(users);
      model->items = IdMap::range(kItems);
      const Offset count = users == kUsers ? history.nnz() : entries;
      model->history = {
          users, kItems,
          Array<Offset>::copy_of({history.offsets.data(), static_cast<std::size_t>(users) + 1}),
          Array<Index>::copy_of({history.columns.data(), static_cast<std::size_t>(count)}),
          Array<float>::copy_of({history.values.data(), static_cast<std::size_t>(count)})};
      model->params = params;
      model->learned = train_knn(model->history.view(), params, open_device("cpu"));
      return model;
    };
    const auto without = model_of(last);
    const Recommender recommender(without, open_device("cpu"));
    const Recommender with(model_of(kUsers), open_device("cpu"));
    const auto columns = history.view().row_columns(last);
    const FoldInRow row{{columns.begin(), columns.end()}, {}};
    const TopKResult outside = recommender.recommend_new(std::span(&row, 1), {.n = 8});
    const TopKResult trained = with.recommend(std::span(&last, 1), {.n = 8});
    ASSERT_EQ(outside.counts[0], trained.counts[0]);
    for (Index r = 0; r < outside.counts[0]; ++r) {
      EXPECT_EQ(outside.items[r], trained.items[r]);
      EXPECT_NEAR(outside.scores[r], trained.scores[r], 1e-5);
    }
  }
}

TEST(KnnPredictor, SumsThatCannotBeAreRefused) {
  KnnParams params;
  params.sum_scale = SumScale::kOffset;
  EXPECT_THROW(params.validate(), Error);
  params.sum_lists = SumLists::kReverse;
  EXPECT_NO_THROW(params.validate());

  params = {.side = Side::kUsers, .neighbours = 3, .similarity = Similarity::kConditional};
  params.sum_lists = SumLists::kReverse;
  const Recommender recommender(make_model(params), open_device("cpu"));
  const FoldInRow row{{1, 4}, {}};
  try {
    (void)recommender.recommend_new(std::span(&row, 1), {.n = 3});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("sum_lists reverse"), std::string::npos);
  }
}

}  // namespace
}  // namespace likewise
