// SPDX-License-Identifier: Apache-2.0
/// Lists by dense weights: bit-identical to plain loops in float64.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/jobs.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/ease.h"
#include "likewise/recommender.h"
#include "retrieval/top_k.h"
#include "tests/backends/device_test.h"
#include "tests/errors.h"
#include "tests/model/model_support.h"
#include "tests/support.h"

namespace likewise::weight_lists_test {
namespace {

struct ListShape {
  const char* name;
  Index users, items, k;
};

/// Of a few sizes, so that many scores are equal, and of both signs.
[[nodiscard]] Matrix some_weights(Index items, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int> size(-6, 6);
  Matrix b(items, items);
  for (Index i = 0; i < items; ++i) {
    for (float& x : b.row_span(i)) x = 0.1F * static_cast<float>(size(random));
  }
  return b;
}

/// Users without entries, one with all items.
[[nodiscard]] CsrMatrix some_histories(Index users, Index items) {
  const CsrMatrix m = test::random_csr(users, items, 6.0, 5);
  std::vector<test::Entry> entries;
  for (Index u = 0; u < users; ++u) {
    for (Offset e = m.offsets[u]; e < m.offsets[u + 1] && u % 4 != 1; ++e) {
      if (u != users / 2) entries.push_back({u, m.columns[e], m.values[e] - 2.5F});
    }
    for (Index item = 0; u == users / 2 && item < items; ++item) {
      entries.push_back({u, item, 1.0F / static_cast<float>(item + 3)});
    }
  }
  return test::make_csr(users, items, entries);
}

/// The contract, as it stands.
[[nodiscard]] std::vector<Candidate> expected_list(const Matrix& b, const CsrView& histories,
                                                   Index user, Index k, const TopKFilter& filter) {
  std::vector<Candidate> all;
  for (Index j = 0; j < b.cols(); ++j) {
    double sum = 0.0;
    for (Offset e = histories.offsets[user]; e < histories.offsets[user + 1]; ++e) {
      sum += double{histories.values[e]} * double{b.row(histories.columns[e])[j]};
    }
    if (!filter.allowed.empty() && filter.allowed[static_cast<std::size_t>(j)] == 0) continue;
    if (filter.excluded.rows > 0 &&
        std::ranges::binary_search(filter.excluded.row_columns(user), j)) {
      continue;
    }
    all.push_back({static_cast<float>(sum), j});
  }
  std::ranges::sort(all, before);
  all.resize(std::min(all.size(), static_cast<std::size_t>(k)));
  return all;
}

void expect_lists(const TopKResult& found, const Matrix& b, const CsrView& histories, Index k,
                  const TopKFilter& filter) {
  ASSERT_EQ(found.k, std::min(k, b.cols()));
  ASSERT_EQ(found.counts.size(), histories.rows);
  for (Index u = 0; u < histories.rows; ++u) {
    const std::vector<Candidate> expected = expected_list(b, histories, u, k, filter);
    ASSERT_EQ(found.counts[u], std::ssize(expected)) << u;
    for (Offset at = 0; at < found.k; ++at) {
      const bool is_listed = at < std::ssize(expected);
      const Candidate one = is_listed ? expected[static_cast<std::size_t>(at)] : Candidate{};
      ASSERT_EQ(found.items[u * Offset{found.k} + at], one.item) << u << ", " << at;
      ASSERT_EQ(found.scores[u * Offset{found.k} + at], one.score) << u << ", " << at;
    }
  }
}

class WeightListsOnGpu : public test::DeviceTest<ListShape> {
 protected:
  [[nodiscard]] static std::unique_ptr<WeightLists> lists_by(const Matrix& b) {
    return job<EaseJob>(device()).make_lists(b.view(), 1);
  }
};

TEST_P(WeightListsOnGpu, EqualPlainLoopsWithEveryFilter) {
  const ListShape s = GetParam();
  const Matrix b = some_weights(s.items, 1);
  const CsrMatrix histories = some_histories(s.users, s.items);
  const CsrMatrix seen = test::random_csr(s.users, s.items, 20.0, 4);
  std::vector<std::uint8_t> few(static_cast<std::size_t>(s.items));
  std::vector<std::uint8_t> most(few.size(), 1);
  for (std::size_t i = 0; i < few.size(); i += 5) few[i] = 1, most[i] = 0;
  const auto lists = lists_by(b);
  ASSERT_NE(lists, nullptr);
  for (const TopKFilter& filter : {TopKFilter{}, TopKFilter{histories.view(), {}},
                                   TopKFilter{{}, few}, TopKFilter{seen.view(), most}}) {
    expect_lists(lists->top_k(histories.view(), s.k, filter, {}), b, histories.view(), s.k, filter);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cuda, WeightListsOnGpu,
    testing::Values(ListShape{"Nobody", 0, 5, 3}, ListShape{"Nothing", 3, 0, 2},
                    ListShape{"OneItem", 3, 1, 1}, ListShape{"Small", 9, 33, 5},
                    ListShape{"NoList", 4, 20, 0}, ListShape{"MoreThanThereAre", 6, 40, 100},
                    ListShape{"OneRange", 30, 1024, 20}, ListShape{"TwoRanges", 30, 1025, 20},
                    ListShape{"Many", 60, 2150, 300}, ListShape{"LongestOfTheGpu", 3, 2600, 2048},
                    ListShape{"LongerThanTheGpus", 3, 2600, 2049}),
    [](const auto& info) { return std::string(info.param.name); });

class FaultsOfWeightListsOnGpu : public WeightListsOnGpu {};

TEST_P(FaultsOfWeightListsOnGpu, AllItemsExcludedGivesNothing) {
  const Matrix b = some_weights(70, 2);
  const CsrMatrix all = test::random_csr(2, 70, 1000.0);
  const auto lists = lists_by(b);
  EXPECT_EQ(lists->top_k(all.view(), 3, {all.view(), {}}, {}).counts[1], 0);
  const std::vector<std::uint8_t> none(70);
  EXPECT_EQ(lists->top_k(all.view(), 3, {{}, none}, {}).counts[0], 0);
}

TEST_P(FaultsOfWeightListsOnGpu, MarkUsersWithScoresBeyondFloat32) {
  Matrix b = some_weights(50, 3);
  b.row(7)[9] = 3e38F;
  const CsrMatrix histories =
      test::make_csr(3, 50, std::vector<test::Entry>{{0, 6, 5}, {1, 7, 5}, {2, 7, 1}});
  const auto lists = lists_by(b);
  for (const Index k : {4, 50}) {
    const TopKResult found = lists->top_k(histories.view(), k, {}, {});
    EXPECT_EQ(found.counts[0], k);
    EXPECT_EQ(found.counts[1], WeightLists::kUndecided);
    EXPECT_EQ(found.counts[2], k);
  }
}

TEST_P(FaultsOfWeightListsOnGpu, ShapesThatDoNotFitAreRefused) {
  const Matrix b = some_weights(20, 2);
  const CsrMatrix wide = test::random_csr(2, 21, 5.0);
  const CsrMatrix fits = test::random_csr(2, 20, 5.0);
  const auto lists = lists_by(b);
  const auto ask = [&](const CsrMatrix& histories, Index k, const TopKFilter& filter) {
    return test::error_of(ErrorKind::kInvalidArgument,
                          [&] { (void)lists->top_k(histories.view(), k, filter, {}); });
  };
  EXPECT_FALSE(ask(wide, 3, {}).empty());
  EXPECT_FALSE(ask(fits, -1, {}).empty());
  EXPECT_FALSE(ask(fits, 3, {wide.view(), {}}).empty());
}

/// Parts of a few users, and too little for the weights.
TEST_P(FaultsOfWeightListsOnGpu, LittleMemoryDoesNotChangeABit) {
  const Matrix b = some_weights(3000, 4);
  const CsrMatrix histories = some_histories(200, 3000);
  const TopKFilter seen{histories.view(), {}};
  const Offset weights = Offset{3000} * b.stride() * 4;
  const Device small = open_device("cuda", {.device_memory = weights + (Offset{1} << 20)});
  expect_lists(job<EaseJob>(small).make_lists(b.view(), 1)->top_k(histories.view(), 20, seen, {}),
               b, histories.view(), 20, seen);
  const Device less = open_device("cuda", {.device_memory = weights});
  EXPECT_THAT(test::error_of(ErrorKind::kOutOfMemory,
                             [&] { (void)job<EaseJob>(less).make_lists(b.view(), 1); }),
              testing::HasSubstr("use the cpu"));
}

INSTANTIATE_TEST_SUITE_P(Cuda, FaultsOfWeightListsOnGpu, testing::Values(ListShape{}),
                         [](const auto&) { return std::string("Any"); });

/// A model of dense weights as `Recommender` asks it.
class EaseModelOnDevice : public test::DeviceTest<int> {
 protected:
  [[nodiscard]] static std::shared_ptr<const Model> model_of(Matrix b) {
    auto model = std::make_shared<Model>();
    model->users = test::make_ids(40, test::Ids::kText, "user");
    model->items = test::make_ids(b.cols(), test::Ids::kText, "item");
    model->history = some_histories(40, b.cols());
    model->params = EaseParams{.form = EaseForm::kDense};
    model->learned = ItemWeights{std::move(b)};
    return model;
  }
};

TEST_P(EaseModelOnDevice, HasTheListsOfTheReference) {
  const auto model = model_of(some_weights(130, 6));
  const Recommender found(model, device());
  const Recommender expected(model, open_device("reference"));
  std::vector<Index> users;
  for (Index u = 39; u >= 0; u -= 3) users.push_back(u);
  const std::vector<Index> denied{3, 4, 77};
  const std::vector<FoldInRow> visitors{{{5, 2}, {1.0F, 2.0F}, {}, {}}, {{9}, {}, {}, {}}};
  for (const bool include_seen : {false, true}) {
    const RecommendOptions options{.n = 7, .include_seen = include_seen, .deny = denied};
    for (const auto& ask :
         {std::function([&](const Recommender& asked) { return asked.recommend(users, options); }),
          std::function(
              [&](const Recommender& asked) { return asked.recommend_new(visitors, options); })}) {
      const TopKResult a = ask(found);
      const TopKResult b = ask(expected);
      EXPECT_TRUE(std::ranges::equal(a.counts, b.counts));
      EXPECT_TRUE(std::ranges::equal(a.items, b.items));
      EXPECT_TRUE(std::ranges::equal(a.scores, b.scores));
    }
  }
}

TEST_P(EaseModelOnDevice, ScoresBeyondFloat32AreAnError) {
  Matrix b(130, 130);
  b.row(7)[9] = 3e38F;
  auto model = std::make_shared<Model>();
  model->users = test::make_ids(1, test::Ids::kText, "user");
  model->items = test::make_ids(130, test::Ids::kRange, "item");
  model->history = test::make_csr(1, 130, std::vector<test::Entry>{{0, 7, 5}});
  model->params = EaseParams{.form = EaseForm::kDense};
  model->learned = ItemWeights{std::move(b)};
  const Recommender recommender(model, device());
  EXPECT_THAT(test::error_of(ErrorKind::kNumerical,
                             [&] { (void)recommender.recommend(std::vector<Index>{0}, {}); }),
              testing::HasSubstr("is not a finite number"));
}

INSTANTIATE_TEST_SUITE_P(Cpu, EaseModelOnDevice, testing::Values(0));
INSTANTIATE_TEST_SUITE_P(Cuda, EaseModelOnDevice, testing::Values(0));

/// Those of the processor, which may leave lists undecided.
class WeightListsOfTheProcessor : public testing::Test {
 protected:
  /// How many lists are undecided; all others have to be those of plain loops.
  static Index undecided(const Matrix& b, const CsrView& histories, Index k,
                         const TopKFilter& filter = {}) {
    TopKResult found = make_cpu_ease()->make_lists(b.view(), 0)->top_k(histories, k, filter, {});
    Index open = 0;
    for (Index u = 0; u < histories.rows; ++u) {
      if (found.counts[u] != WeightLists::kUndecided) continue;
      ++open;
      const std::vector<Candidate> list = expected_list(b, histories, u, k, filter);
      write_answer(list, u, found);
    }
    expect_lists(found, b, histories, k, filter);
    return open;
  }

  [[nodiscard]] static Matrix weights_of_all_sizes(Index items) {
    std::mt19937_64 random(8);
    std::normal_distribution<float> size(-3.0F, 1.0F);
    Matrix b(items, items);
    for (Index i = 0; i < items; ++i) {
      for (float& x : b.row_span(i)) x = std::exp(size(random)) * (random() % 3 == 0 ? -1 : 1);
    }
    return b;
  }
};

TEST_F(WeightListsOfTheProcessor, EqualPlainLoopsWithEveryFilter) {
  for (const Index items : {40, 128, 300}) {
    const Matrix b = weights_of_all_sizes(items);
    const CsrMatrix histories = some_histories(300, items);
    std::vector<std::uint8_t> few(static_cast<std::size_t>(items));
    for (std::size_t i = 0; i < few.size(); i += 5) few[i] = 1;
    const TopKFilter seen{histories.view(), {}};
    for (const Index k : {1, 10, 500}) {
      // Users without entries: all scores are 0.
      EXPECT_LE(undecided(b, histories.view(), k, seen), 80) << items << ", " << k;
      EXPECT_LE(undecided(b, histories.view(), k, {{}, few}), 80) << items << ", " << k;
    }
  }
}

TEST_F(WeightListsOfTheProcessor, AreUndecidedWhereEstimatesDoNotTell) {
  Matrix b(200, 200);
  for (Index j = 0; j < 200; ++j) b.row(3)[j] = 0.1F * (1.0F + 1e-6F * static_cast<float>(j));
  std::vector<test::Entry> entries;
  for (Index u = 0; u < 900; ++u) entries.push_back({u, 3, 1.0F});
  const CsrMatrix histories = test::make_csr(900, 200, entries);
  EXPECT_EQ(undecided(b, histories.view(), 1), 900);
  EXPECT_EQ(undecided(b, histories.view(), 200), 0);  // nothing is left out
  for (float& x : b.row_span(3)) x = 0.0F;
  b.row(3)[150] = 0.1F;
  EXPECT_EQ(undecided(b, histories.view(), 1), 0);
}

TEST_F(WeightListsOfTheProcessor, AreUndecidedWhereNumbersAreTooLarge) {
  Matrix b = weights_of_all_sizes(60);
  const CsrMatrix histories = some_histories(300, 60);
  const Index before = undecided(b, histories.view(), 5);
  b.row(7)[9] = 4095.0F;  // times the scale, it is beyond float16
  const CsrMatrix by_user = transpose(histories.view());
  EXPECT_GE(undecided(b, histories.view(), 5), before + 1);
  EXPECT_GE(undecided(b, histories.view(), 5), by_user.view().row_size(7));
  Matrix large = weights_of_all_sizes(60);
  CsrMatrix values = some_histories(300, 60);
  for (float& value : values.values) value = 2e38F;
  EXPECT_EQ(undecided(large, values.view(), 5), 300);
}

TEST_F(WeightListsOfTheProcessor, OfAFewHistoriesAreUndecided) {
  const Matrix b = weights_of_all_sizes(60);
  const CsrMatrix histories = some_histories(20, 60);
  EXPECT_EQ(undecided(b, histories.view(), 5), 20);
  EXPECT_EQ(undecided(b, histories.view(), 0), 0);
}

/// Also those that a recommender asks for, and has to decide.
TEST_F(WeightListsOfTheProcessor, AreThoseOfTheReferenceInARecommender) {
  for (const bool ties : {false, true}) {
    auto model = std::make_shared<Model>();
    model->users = test::make_ids(400, test::Ids::kRange, "user");
    model->items = test::make_ids(90, test::Ids::kRange, "item");
    model->history = some_histories(400, 90);
    model->params = EaseParams{.form = EaseForm::kDense};
    model->learned = ItemWeights{ties ? some_weights(90, 3) : weights_of_all_sizes(90)};
    std::vector<Index> users(400);
    std::iota(users.rbegin(), users.rend(), 0);
    const std::vector<Index> denied{3, 4, 77};
    const RecommendOptions options{.n = 7, .deny = denied};
    const TopKResult a = Recommender(model, open_device("cpu")).recommend(users, options);
    const TopKResult b = Recommender(model, open_device("reference")).recommend(users, options);
    EXPECT_TRUE(std::ranges::equal(a.counts, b.counts));
    EXPECT_TRUE(std::ranges::equal(a.items, b.items));
    EXPECT_TRUE(std::ranges::equal(a.scores, b.scores));
  }
}

}  // namespace
}  // namespace likewise::weight_lists_test
