// SPDX-License-Identifier: Apache-2.0
/// Every device predicts what the reference does, bit-identical, and pairs what whole rows do.
#include "backends/jobs/predictions.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/knn/knn_prediction.h"
#include "algorithms/knn/similarity.h"
#include "algorithms/sgd/sgd.h"
#include "backends/jobs/device_jobs.h"
#include "backends/jobs/pair_batches.h"
#include "likewise/recommender.h"
#include "likewise/training.h"
#include "tests/backends/device_test.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using testing::HasSubstr;

std::vector<Index> drawn(std::size_t count, Index below, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Index> all(count);
  for (Index& one : all) one = static_cast<Index>(random() % static_cast<std::uint64_t>(below));
  return all;
}

std::vector<float> pairs_of(const Predictions& of, std::span<const Index> rows,
                            std::span<const Index> columns) {
  std::vector<float> out(rows.size(), -1.0F);
  of.of_pairs(rows, columns, out.data(), {});
  return out;
}

std::vector<float> rows_of(const Predictions& of, std::span<const Index> rows, Index columns) {
  std::vector<float> out(rows.size() * static_cast<std::size_t>(columns), -1.0F);
  EXPECT_GE(of.of_rows(rows, out.data()), 0.0);
  return out;
}

TEST(PairBatches, HoldEveryPairOnceAndFewRows) {
  const std::vector<Index> rows{5, 1, 5, 9, 1, 0, 5};
  std::vector<std::size_t> met;
  int batches = 0;
  for_pair_batches(rows, 2, [&](const PairBatch& batch) {
    ++batches;
    EXPECT_EQ(batch.rows.size(), 2U);
    for (std::size_t r = 0; r < batch.rows.size(); ++r) {
      for (const std::size_t p : batch.pairs_of(r)) {
        EXPECT_EQ(rows[p], batch.rows[r]);
        met.push_back(p);
      }
    }
  });
  EXPECT_EQ(batches, 2);
  EXPECT_THAT(met, testing::ElementsAre(5, 1, 4, 0, 2, 6, 3));
  for_pair_batches({}, 2, [](const PairBatch&) { FAIL(); });
}

struct FactorShape {
  Index users, items, factors;
};

class FactorPredictionsOnDevice : public test::DeviceTest<FactorShape> {
 protected:
  [[nodiscard]] static Factors factors(bool biased) {
    const FactorShape s = GetParam();
    std::mt19937_64 random(4);
    std::normal_distribution<float> normal;
    Factors made{Matrix(s.users, s.factors), Matrix(s.items, s.factors),
                 Array<float>(biased ? s.users : 0), Array<float>(biased ? s.items : 0),
                 biased ? 3.5F : 0.0F};
    for (Matrix* side : {&made.users, &made.items}) {
      for (Index r = 0; r < side->rows(); ++r) {
        for (Index j = 0; j < s.factors; ++j) side->row(r)[j] = normal(random);
      }
    }
    for (Array<float>* bias : {&made.user_bias, &made.item_bias}) {
      for (float& one : *bias) one = normal(random);
    }
    return made;
  }
};

TEST_P(FactorPredictionsOnDevice, EqualTheReference) {
  const FactorShape s = GetParam();
  const std::vector<Index> users = drawn(777, s.users, 1);
  const std::vector<Index> items = drawn(777, s.items, 2);
  const std::vector<Index> some = drawn(9, s.users, 3);
  for (const bool biased : {false, true}) {
    const Factors made = factors(biased);
    const auto reference = job<PredictionJob>(open_device("reference")).by_factors(made);
    const auto found = job<PredictionJob>(device()).by_factors(made);
    EXPECT_EQ(pairs_of(*found, users, items), pairs_of(*reference, users, items));
    const std::vector<float> rows = rows_of(*found, some, s.items);
    EXPECT_EQ(rows, rows_of(*reference, some, s.items));
    std::vector<Index> row_users;
    std::vector<Index> row_items;
    for (const Index user : some) {
      for (Index item = 0; item < s.items; ++item) {
        row_users.push_back(user);
        row_items.push_back(item);
      }
    }
    EXPECT_EQ(pairs_of(*found, row_users, row_items), rows);
    EXPECT_EQ(found->memory().total > 0, on_gpu());
  }
}

constexpr FactorShape kFactorShapes[] = {{1, 1, 1},      {3, 5, 4},      {12, 700, 63},
                                         {40, 2049, 64}, {2, 3000, 129}, {300, 17, 10}};
INSTANTIATE_TEST_SUITE_P(Cpu, FactorPredictionsOnDevice, testing::ValuesIn(kFactorShapes));
INSTANTIATE_TEST_SUITE_P(Cuda, FactorPredictionsOnDevice, testing::ValuesIn(kFactorShapes));

struct RatingCase {
  const char* name;
  Index users;
  Index items;
  double per_user;
  int neighbours;
};

std::ostream& operator<<(std::ostream& out, const RatingCase& one) { return out << one.name; }

/// A model with what belongs to it.
struct Rated {
  KnnParams params;
  CsrMatrix by_user;
  Knn learned;
  SimilarityProblem problem;
  KnnRatings ratings;

  Rated(const RatingCase& one, const KnnParams& with)
      : params(with),
        by_user(test::random_csr(one.users, one.items, one.per_user, 3)),
        learned(train_knn(by_user.view(), params, open_device("cpu"))),
        problem(by_user.view(), params, learned.biases),
        ratings(by_user.view(), params, learned.biases) {}

  [[nodiscard]] Index rows() const { return ratings.by_column().cols; }
  [[nodiscard]] Index columns() const { return ratings.by_column().rows; }
  [[nodiscard]] std::unique_ptr<Predictions> on(const Device& device) {
    if (search == nullptr || searcher != device.name()) {
      search = job<KnnJob>(device).make_search(problem);
      searcher = device.name();
    }
    const bool kept = params.predict_from == PredictFrom::kKept;
    return job<PredictionJob>(device).by_knn({problem, ratings,
                                              kept ? &learned.neighbours : nullptr,
                                              [this]() -> const KnnSearch& { return *search; }});
  }

 private:
  std::unique_ptr<KnnSearch> search;
  std::string searcher;
};

class KnnPredictionsOnDevice : public test::DeviceTest<RatingCase> {
 protected:
  template <class Check>
  static void for_each_model(const Check& check) {
    const RatingCase& one = GetParam();
    for (const Side side : {Side::kUsers, Side::kItems}) {
      for (const PredictFrom from : {PredictFrom::kRated, PredictFrom::kKept, PredictFrom::kAll}) {
        for (const Prediction prediction : {Prediction::kMean, Prediction::kCentred,
                                            Prediction::kZScore, Prediction::kBaseline}) {
          SCOPED_TRACE(fmt::format("{}, from {}, prediction {}", side_name(side),
                                   static_cast<int>(from), static_cast<int>(prediction)));
          KnnParams params = KnnParams::defaults(Feedback::kExplicit);
          params.side = side;
          params.predict_from = from;
          params.prediction = prediction;
          params.neighbours = one.neighbours;
          params.similarity =
              prediction == Prediction::kMean ? Similarity::kCosine : Similarity::kPearson;
          params.keep_negative = prediction == Prediction::kZScore;
          params.min_neighbours = prediction == Prediction::kCentred ? 3 : 1;
          params.clip = prediction != Prediction::kBaseline;
          Rated model(one, params);
          check(model);
        }
      }
    }
  }
};

TEST_P(KnnPredictionsOnDevice, EqualTheReference) {
  for_each_model([](Rated& model) {
    const std::vector<Index> some = drawn(7, model.rows(), 5);
    const std::vector<Index> rows = drawn(60, model.rows(), 6);
    const std::vector<Index> columns = drawn(60, model.columns(), 7);
    const auto reference = model.on(open_device("reference"));
    const std::vector<float> wanted = rows_of(*reference, some, model.columns());
    const std::vector<float> wanted_pairs = pairs_of(*reference, rows, columns);
    const auto found = model.on(device());
    EXPECT_EQ(rows_of(*found, some, model.columns()), wanted);
    EXPECT_EQ(pairs_of(*found, rows, columns), wanted_pairs);
    EXPECT_EQ(found->memory().total > 0, on_gpu());
  });
}

std::string name_of_case(const testing::TestParamInfo<RatingCase>& one) { return one.param.name; }

constexpr RatingCase kRatingCases[] = {{"OneUser", 1, 70, 30.0, 5},
                                       {"OneItem", 80, 1, 0.7, 5},
                                       {"Small", 12, 9, 4.0, 3},
                                       {"OneNeighbour", 90, 200, 40.0, 1},
                                       {"MoreNeighboursThanRaters", 60, 64, 9.0, 500},
                                       {"SeveralStrips", 60, 1300, 90.0, 7},
                                       {"ManyUsers", 1300, 60, 6.0, 7},
                                       {"EmptyRowsAndColumns", 400, 700, 0.8, 3},
                                       {"CellsOfSeveralStrips", 900, 3000, 1.5, 4},
                                       {"AllAreThere", 70, 129, 129.0, 12}};
INSTANTIATE_TEST_SUITE_P(Cpu, KnnPredictionsOnDevice, testing::ValuesIn(kRatingCases),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Cuda, KnnPredictionsOnDevice, testing::ValuesIn(kRatingCases),
                         name_of_case);

/// Rows that are sorted in memory (users), and raters of a column (items by users).
constexpr RatingCase kLong{"Long", 20'000, 12, 9.0, 6};

class LongPredictionsOnGpu : public KnnPredictionsOnDevice {};

TEST_P(LongPredictionsOnGpu, EqualTheCpu) {
  for_each_model([](Rated& model) {
    const std::vector<Index> some = drawn(40, model.rows(), 5);
    const std::vector<Index> rows = drawn(500, model.rows(), 6);
    const std::vector<Index> columns = drawn(500, model.columns(), 7);
    const auto cpu = model.on(open_device("cpu"));
    const std::vector<float> wanted = rows_of(*cpu, some, model.columns());
    const std::vector<float> wanted_pairs = pairs_of(*cpu, rows, columns);
    const auto found = model.on(device());
    EXPECT_EQ(rows_of(*found, some, model.columns()), wanted);
    EXPECT_EQ(pairs_of(*found, rows, columns), wanted_pairs);
  });
}

INSTANTIATE_TEST_SUITE_P(Cuda, LongPredictionsOnGpu, testing::Values(kLong), name_of_case);

class PredictionMemoryOnGpu : public test::DeviceTest<Side> {
 protected:
  [[nodiscard]] static Rated model() {
    KnnParams params = KnnParams::defaults(Feedback::kExplicit);
    params.side = GetParam();
    return {{"Batches", 700, 900, 60.0, 20}, params};
  }
  [[nodiscard]] static Device with(Offset bytes) {
    DeviceOptions options;
    options.device_memory = bytes;
    return open_device("cuda", options);
  }
};

/// Whatever a GPU lends, predictions are the same; what it cannot is refused with the figures.
TEST_P(PredictionMemoryOnGpu, ALimitChangesNoPrediction) {
  Rated rated = model();
  std::vector<Index> all(static_cast<std::size_t>(rated.rows()));
  for (std::size_t r = 0; r < all.size(); ++r) all[r] = static_cast<Index>(r);
  const std::vector<Index> columns = drawn(all.size(), rated.columns(), 7);
  const auto free = rated.on(device());
  const std::vector<float> wanted = rows_of(*free, all, rated.columns());
  const std::vector<float> wanted_pairs = pairs_of(*free, all, columns);
  const Offset limit = free->memory().total - (Offset{4} << 20);
  const auto limited = rated.on(with(limit));
  EXPECT_LE(limited->memory().total, limit);
  EXPECT_EQ(rows_of(*limited, all, rated.columns()), wanted);
  EXPECT_EQ(pairs_of(*limited, all, columns), wanted_pairs);
  const std::string refused =
      test::error_of(ErrorKind::kOutOfMemory, [&] { (void)rated.on(with(Offset{1} << 20)); });
  EXPECT_THAT(refused, HasSubstr("predictions need more memory than the GPU has left"));
  EXPECT_THAT(refused, HasSubstr("1.0 MiB"));
}

TEST_P(PredictionMemoryOnGpu, PairsCanBeInterrupted) {
  Rated rated = model();
  const std::atomic<bool> stop{true};
  const std::vector<Index> one{0};
  float out = 0.0F;
  for (const auto& predictions : {rated.on(device())}) {
    EXPECT_EQ(test::error_of(ErrorKind::kCancelled,
                             [&] {
                               predictions->of_pairs(one, one, &out, {&stop, {}});
                             }),
              "interrupted");
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, PredictionMemoryOnGpu, testing::Values(Side::kUsers, Side::kItems));

/// What the recommender makes of it.
class MissingOnDevice : public test::DeviceTest<Side> {};

/// A model of ratings whose factors leave their scale: what lists say is what is predicted, before
/// it is put on the scale, and pairs are what whole rows are.
TEST_P(MissingOnDevice, OfFactorsIsWhatPairsAndListsAre) {
  auto model = std::make_shared<Model>();
  SgdParams params;
  params.factors = 7;
  params.iterations = 2;
  params.init_stddev = 2.0;
  model->params = params;
  model->history = test::random_csr(50, 70, 12.0, 9);
  model->users = IdMap::range(50);
  model->items = IdMap::range(70);
  model->learned = train_sgd(model->history.view(), params, open_device("cpu")).factors;
  const Recommender clipped(model, device());
  const Recommender free(model, device(), false);
  int outside = 0;
  clipped.predict_missing(
      [&](Side, Index user, std::span<const Index> items, std::span<const float> values) {
        const std::vector<Index> users(items.size(), user);
        EXPECT_TRUE(std::ranges::equal(values, clipped.predict(users, items))) << user;
        std::vector<float> wanted = free.predict(users, items);
        for (float& one : wanted) {
          outside += one < 1.0F || one > 5.0F ? 1 : 0;
          one = std::clamp(one, 1.0F, 5.0F);
        }
        EXPECT_TRUE(std::ranges::equal(values, wanted)) << user;
      });
  EXPECT_GT(outside, 20);
  const std::vector<Index> users{0, 9, 49};
  for (const Recommender* one : {&clipped, &free}) {
    const TopKResult lists = one->recommend(users, {.n = 70});
    for (std::size_t u = 0; u < users.size(); ++u) {
      const auto at = static_cast<Offset>(u);
      const auto count = static_cast<std::size_t>(lists.counts[at]);
      const std::span<const Index> items(lists.items.data() + at * lists.k, count);
      const std::span<const float> scores(lists.scores.data() + at * lists.k, count);
      EXPECT_TRUE(
          std::ranges::equal(scores, free.predict(std::vector<Index>(count, users[u]), items)));
    }
  }
}

TEST_P(MissingOnDevice, IsWhatPairsAre) {
  KnnParams params = KnnParams::defaults(Feedback::kExplicit);
  params.side = GetParam();
  auto model = std::make_shared<Model>();
  model->params = params;
  model->history = test::random_csr(50, 70, 12.0, 9);
  model->users = IdMap::range(50);
  model->items = IdMap::range(70);
  model->learned = train_knn(model->history.view(), params, open_device("cpu"));
  const Recommender recommender(model, device());
  EXPECT_EQ(recommender.prediction_memory().total, 0);
  Offset met = 0;
  const PredictionTimes times = recommender.predict_missing(
      [&](Side side, Index row, std::span<const Index> others, std::span<const float> values) {
        EXPECT_EQ(side, GetParam());
        const std::vector<Index> rows(others.size(), row);
        const bool by_user = side == Side::kUsers;
        const auto wanted =
            by_user ? recommender.predict(rows, others) : recommender.predict(others, rows);
        EXPECT_TRUE(std::ranges::equal(values, wanted)) << row;
        met += std::ssize(others);
      });
  EXPECT_EQ(met, 50 * 70 - model->history.nnz());
  EXPECT_GE(times.similarities, 0.0);
  EXPECT_EQ(recommender.prediction_memory().total > 0, on_gpu());
}

INSTANTIATE_TEST_SUITE_P(Cpu, MissingOnDevice, testing::Values(Side::kUsers, Side::kItems));
INSTANTIATE_TEST_SUITE_P(Cuda, MissingOnDevice, testing::Values(Side::kUsers, Side::kItems));

}  // namespace
}  // namespace likewise
