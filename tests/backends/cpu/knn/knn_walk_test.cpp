// SPDX-License-Identifier: Apache-2.0
/// Whole rows at once against one cell after the other, bit-identical.
#include "backends/cpu/knn/knn_walk.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "algorithms/knn/knn_prediction.h"
#include "tests/support.h"

namespace likewise {
namespace {

struct Case {
  const char* name;
  Index users;
  Index items;
  double per_user;
  int neighbours;
  int levels;  ///< how many different similarities there are
  bool negative = false;
  PredictFrom from = PredictFrom::kRated;
};

std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name; }

class Walk : public testing::TestWithParam<Case> {};

TEST_P(Walk, IsOnePredictionAfterTheOther) {
  const Case& one = GetParam();
  std::mt19937_64 random(7);
  const CsrMatrix by_user = test::random_csr(one.users, one.items, one.per_user, 3);
  for (const Prediction prediction : {Prediction::kMean, Prediction::kZScore}) {
    KnnParams params = KnnParams::defaults(Feedback::kExplicit);
    params.side = Side::kUsers;
    params.prediction = prediction;
    params.neighbours = one.neighbours;
    params.predict_from = one.from;
    params.clip = false;
    const Biases none;
    const KnnRatings ratings(by_user.view(), params, none);
    const KnnWalk walk(ratings);
    std::vector<Index> items(static_cast<std::size_t>(one.items));
    std::iota(items.begin(), items.end(), 0);
    std::shuffle(items.begin(), items.end(), random);
    items.insert(items.end(), {items[0], items[0]});
    std::uniform_int_distribution<int> level(one.negative ? -one.levels : 0, one.levels);
    std::vector<float> similarities(static_cast<std::size_t>(one.users));
    for (Index own : {Index{0}, one.users / 2, one.users - 1, Index{-1}}) {
      for (float& s : similarities) {
        s = static_cast<float>(level(random)) / static_cast<float>(one.levels + 1);
      }
      const RowLevel x = ratings.level(std::max(own, 0));
      for (const std::size_t asked :
           {items.size(), items.size() / 3, std::size_t{1}, std::size_t{0}}) {
        const std::span<const Index> columns = std::span(items).first(asked);
        std::vector<float> found(asked);
        walk.predict(x, own, similarities.data(), columns, found.data());
        for (std::size_t i = 0; i < asked; ++i) {
          ASSERT_EQ(found[i],
                    ratings.predict(x, own, ratings.raters(columns[i]), similarities.data()))
              << "row " << own << " column " << columns[i] << " of " << asked;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Walk,
    testing::Values(Case{"one user", 1, 70, 30.0, 5, 3}, Case{"one item", 80, 1, 0.7, 5, 3},
                    Case{"few neighbours", 90, 200, 40.0, 2, 1000},
                    Case{"one neighbour", 90, 200, 40.0, 1, 1000},
                    Case{"ties", 300, 130, 40.0, 7, 2},
                    Case{"more neighbours than raters", 60, 64, 9.0, 500, 20},
                    Case{"empty rows and columns", 400, 700, 0.8, 3, 50},
                    Case{"several blocks, sorted by digits", 1500, 2600, 60.0, 10, 100'000},
                    Case{"all are there", 70, 129, 129.0, 12, 30},
                    Case{"negative", 700, 150, 30.0, 25, 4000, true},
                    Case{"all raters", 120, 300, 60.0, 2, 1000, true, PredictFrom::kAll}),
    [](const auto& one) {
      std::string name = one.param.name;
      std::erase_if(name, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) == 0; });
      return name;
    });

}  // namespace
}  // namespace likewise
