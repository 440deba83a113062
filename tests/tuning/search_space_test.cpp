// SPDX-License-Identifier: Apache-2.0
#include "tuning/search_space.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/parameters/rules.h"
#include "likewise/synthetic.h"
#include "likewise/tune.h"
#include "tests/errors.h"
#include "tuning/halving.h"
#include "tuning/sobol.h"

namespace likewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The defaults for some data.
TrainingParams usual(std::string_view algorithm, Feedback feedback) {
  static const Interactions made = generate(parse_shape("200x60x4000"), 5);
  return with_data_defaults(made.by_user.view(), default_params(algorithm, feedback));
}

/// Calls work(space) for every algorithm that is searched.
template <class Work>
void for_all(const Work& work) {
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    for (const std::string_view algorithm : tuned_algorithms(feedback)) {
      SCOPED_TRACE(fmt::format("{} {}", algorithm, static_cast<int>(feedback)));
      work(SearchSpace(usual(algorithm, feedback), 3));
    }
  }
}

double number(const TrainingParams& params, std::string_view name) {
  return std::stod(parameter_text(params, name));
}

TEST(SearchSpace, HoldsTheAlgorithmsThatHaveSomethingToSearch) {
  EXPECT_THAT(
      tuned_algorithms(Feedback::kImplicit),
      testing::UnorderedElementsAre("als", "bpr", "ease", "item-knn", "spectral", "user-knn"));
  EXPECT_THAT(tuned_algorithms(Feedback::kExplicit),
              testing::UnorderedElementsAre("als", "sgd", "item-knn", "user-knn"));
  EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                             [] { SearchSpace(usual("popular", Feedback::kImplicit), 1); }),
              HasSubstr("popular has no parameters to search"));
}

TEST(SearchSpace, PointsAreValidParametersThatAreAllUsed) {
  for_all([](const SearchSpace& space) {
    for (int n = 0; n < 200; ++n) {
      const TrainingParams params = space.at(space.quasi_random(n));
      EXPECT_NO_THROW(validate(params));
      for (const SearchedParameter& one : searched_parameters(params, space.usual())) {
        if (parameter_needs(params, one.name).empty()) continue;
        EXPECT_EQ(parameter_text(params, one.name), parameter_text(space.usual(), one.name));
      }
    }
  });
}

TEST(SearchSpace, RangesAndChoicesAreCoveredToTheirEnds) {
  for_all([](const SearchSpace& space) {
    const Point some = space.quasi_random(0);
    const Point low(some.size(), 0.0);
    const Point high(some.size(), 1.0 - 1e-12);
    for (const auto& [point, at_top] : {std::pair(low, false), std::pair(high, true)}) {
      const TrainingParams params = space.at(point);
      for (const SearchedParameter& one : searched_parameters(params, space.usual())) {
        SCOPED_TRACE(one.name);
        if (one.name == "iterations" || !parameter_needs(params, one.name).empty()) continue;
        if (one.choices.empty()) {
          const double end = at_top ? one.high : one.low;
          EXPECT_NEAR(number(params, one.name), end, 0.005 * std::abs(end));  // three digits
        } else {
          EXPECT_EQ(parameter_text(params, one.name),
                    at_top ? one.choices.back() : one.choices.front());
        }
      }
    }
  });
}

TEST(SearchSpace, APointIsFoundAgainFromItsParameters) {
  for_all([](const SearchSpace& space) {
    for (int n = 0; n < 50; ++n) {
      const TrainingParams params = space.at(space.quasi_random(n));
      const TrainingParams again = space.at(space.point_of(params));
      for (const SearchedParameter& one : searched_parameters(params, space.usual())) {
        SCOPED_TRACE(one.name);
        const std::string text = parameter_text(params, one.name);
        if (!one.choices.empty() || text == "none" || one.name == "iterations") {
          EXPECT_EQ(parameter_text(again, one.name), text);
        } else {
          EXPECT_NEAR(number(again, one.name), std::stod(text), 0.011 * std::stod(text));
        }
      }
    }
  });
}

/// What lambda pulls a row of 100 ratings by: lambda 100^nu.
double pull_of_100(const TrainingParams& params) {
  return number(params, "regularization") *
         std::pow(100.0, number(params, "regularization_exponent"));
}

/// Calls work(params) at many points; returns the least and the most of what it returns.
template <class Work>
std::pair<double, double> ends_over(const SearchSpace& space, const Work& work) {
  std::vector<double> all;
  for (int n = 0; n < 256; ++n) all.push_back(work(space.at(space.quasi_random(n))));
  const auto [least, most] = std::ranges::minmax(all);
  return {least, most};
}

TEST(SearchSpace, LambdaOfGradientDescentMovesWithNu) {
  const TrainingParams suited = usual("sgd", Feedback::kExplicit);
  const double scale = number(suited, "regularization") / 0.9;  // of the values' spread
  const auto [least, most] = ends_over(SearchSpace(suited, 1), pull_of_100);
  EXPECT_GE(least, 0.99 * scale);
  EXPECT_LT(least, 1.2 * scale);
  EXPECT_GT(most, 85.0 * scale);
  EXPECT_LE(most, 101.0 * scale);
}

TEST(SearchSpace, AlsOfRatingsIsSearchedAboutWhatSuitsTheData) {
  const SearchSpace space(usual("als", Feedback::kExplicit), 1);
  // A tenth to ten times, and each nu pulls a row of 100 as much.
  const double data_defaults = pull_of_100(space.usual());
  const auto [least, most] = ends_over(
      space, [&](const TrainingParams& params) { return pull_of_100(params) / data_defaults; });
  EXPECT_GE(least, 0.0985);  // three digits of each
  EXPECT_LT(least, 0.12);
  EXPECT_GT(most, 8.5);
  EXPECT_LE(most, 10.15);
  const auto [smallest, largest] = ends_over(space, [](const TrainingParams& params) {
    return number(params, "regularization_exponent");
  });
  EXPECT_LT(smallest, 0.01);
  EXPECT_GT(largest, 0.99);
  // The defaults lie in the middle.
  const Point middle = space.point_of(space.usual());
  EXPECT_NEAR(middle[1], 0.5, 1e-12);
  EXPECT_NEAR(middle[2], 0.5, 1e-12);
}

TEST(SearchSpace, AlsOfLikesIsSearchedAboutWhatSuitsTheData) {
  const SearchSpace space(usual("als", Feedback::kImplicit), 1);
  const auto& data_defaults = std::get<AlsParams>(space.usual());
  const double w0 = *data_defaults.unobserved_weight;
  double least = 1.0;
  double most = 1.0;
  for (int n = 0; n < 100; ++n) {
    const AlsParams params = std::get<AlsParams>(space.at(space.quasi_random(n)));
    EXPECT_EQ(params.regularization_exponent, 1.0);
    const double of_w0 = *params.unobserved_weight / w0;
    EXPECT_TRUE(of_w0 > 1 / 16.1 && of_w0 < 16.1) << of_w0;
    least = std::min(least, of_w0);
    most = std::max(most, of_w0);
    // The rule of with_data_defaults(): lambda falls with the root of w0.
    const double of_lambda =
        params.regularization * std::sqrt(of_w0) / data_defaults.regularization;
    EXPECT_TRUE(of_lambda > 1 / 8.2 && of_lambda < 8.2) << of_lambda;  // three digits of each
  }
  EXPECT_LT(least, 1 / 12.0);
  EXPECT_GT(most, 12.0);
  // The defaults lie in the middle.
  const Point middle = space.point_of(space.usual());
  EXPECT_NEAR(middle[1], 0.5, 1e-12);
  EXPECT_NEAR(middle[2], 0.5, 1e-12);
}

TEST(SearchSpace, WeightsMoveWithWhatSuitsTheData) {
  const Interactions sparser = generate(parse_shape("400x90x3000"), 5);
  for_all([&](const SearchSpace& space) {
    const TrainingParams other = with_data_defaults(sparser.by_user.view(), space.usual());
    const bool about_data = space.algorithm() == "als" || space.algorithm() == "sgd";
    for (int n = 0; n < 50; ++n) {
      const TrainingParams params = space.at(space.quasi_random(n));
      const TrainingParams there = moved(params, space.usual(), other);
      for (const SearchedParameter& one : searched_parameters(params, space.usual())) {
        SCOPED_TRACE(one.name);
        const std::string text = parameter_text(params, one.name);
        const bool is_weight = one.name == "unobserved_weight" || one.name == "regularization";
        if (!about_data || !is_weight) {
          EXPECT_EQ(parameter_text(there, one.name), text);
        } else {
          const double factor = number(other, one.name) / number(space.usual(), one.name);
          EXPECT_NE(factor, 1.0);
          EXPECT_NEAR(number(there, one.name), factor * number(params, one.name),
                      0.01 * number(there, one.name));  // three digits
        }
      }
    }
  });
}

TEST(SearchSpace, SumsOfNeighboursAreSearched) {
  std::set<std::string> items;
  std::set<std::string> users;
  const SearchSpace of_items(usual("item-knn", Feedback::kImplicit), 1);
  const SearchSpace of_users(usual("user-knn", Feedback::kImplicit), 1);
  for (int n = 0; n < 256; ++n) {
    const TrainingParams item = of_items.at(of_items.quasi_random(n));
    const TrainingParams user = of_users.at(of_users.quasi_random(n));
    items.insert(parameter_text(item, "sum_lists") + " " + parameter_text(item, "sum_scale"));
    users.insert(parameter_text(user, "sum_lists") + " " + parameter_text(user, "sum_scale"));
  }
  EXPECT_THAT(items, ElementsAre("both mean", "both none", "own mean", "own none", "reverse mean",
                                 "reverse none", "reverse offset"));
  EXPECT_THAT(users, ElementsAre("both none", "own none", "reverse none"));
}

TEST(SearchSpace, QuasiRandomPointsFillEveryPartOfADimension) {
  for_all([](const SearchSpace& space) {
    for (const int first : {0, 8, 64}) {
      std::vector<std::set<int>> parts(space.quasi_random(0).size());
      for (int n = first; n < first + 8; ++n) {
        const Point point = space.quasi_random(n);
        for (std::size_t d = 0; d < point.size(); ++d) {
          parts[d].insert(static_cast<int>(8 * point[d]));
        }
      }
      for (const std::set<int>& part : parts) EXPECT_EQ(part.size(), 8U);
    }
  });
}

TEST(Sobol, EveryDimensionAndPairOfNeighboursIsStratified) {
  for (int d = 0; d < kMostSobolDimensions; ++d) {
    std::set<std::uint32_t> parts;
    for (std::uint32_t n = 0; n < 1024; ++n) parts.insert(sobol(d, n) >> 22U);
    EXPECT_EQ(parts.size(), 1024U) << d;
  }
  // The first two dimensions are a (0, 2)-sequence: 16 points fill a grid of 4 x 4.
  std::set<std::uint32_t> cells;
  for (std::uint32_t n = 0; n < 16; ++n) {
    cells.insert((sobol(0, n) >> 30U) * 4 + (sobol(1, n) >> 30U));
  }
  EXPECT_EQ(cells.size(), 16U);
}

TEST(Sobol, PointsAreThoseOfScipy) {
  // scipy.stats.qmc.Sobol(10, scramble=False), which takes them in the order of a Gray code: the
  // points whose code is 5 and 100, in units of 2^-8.
  constexpr std::uint32_t kFive[] = {160, 32, 224, 160, 160, 224, 32, 32, 32, 96};
  constexpr std::uint32_t kHundred[] = {38, 198, 178, 246, 134, 18, 10, 150, 30, 254};
  for (int d = 0; d < kMostSobolDimensions; ++d) {
    EXPECT_EQ(sobol(d, 5) >> 24U, kFive[d]) << d;
    EXPECT_EQ(sobol(d, 100) >> 24U, kHundred[d]) << d;
  }
}

TEST(SearchSpace, DrawsDependOnTheSeedAndTheNumberAlone) {
  const SearchSpace one(usual("sgd", Feedback::kExplicit), 1);
  const SearchSpace same(usual("sgd", Feedback::kExplicit), 1);
  const SearchSpace other(usual("sgd", Feedback::kExplicit), 2);
  const Point centre = one.quasi_random(0);
  EXPECT_EQ(one.quasi_random(7), same.quasi_random(7));
  EXPECT_NE(one.quasi_random(7), other.quasi_random(7));
  EXPECT_EQ(one.near(centre, 0.1, 4), same.near(centre, 0.1, 4));
  EXPECT_NE(one.near(centre, 0.1, 4), one.near(centre, 0.1, 5));
}

TEST(SearchSpace, NearPointsAreNearAndInside) {
  const SearchSpace space(usual("bpr", Feedback::kImplicit), 1);
  const Point corner(space.quasi_random(0).size(), 0.0);
  double sum = 0.0;
  for (int n = 0; n < 500; ++n) {
    const Point point = space.near(corner, 0.1, n);
    for (const double x : point) {
      EXPECT_GE(x, 0.0);
      EXPECT_LT(x, 1.0);
    }
    sum += point[0];
  }
  EXPECT_NEAR(sum / 500, 0.1 * std::sqrt(2.0 / M_PI), 0.01);  // mean of |normal|; 3.7 deviations
}

TEST(Halving, BracketsAreThoseOfHyperband) {
  EXPECT_EQ(bracket_of(0, 63).trials, 9);
  EXPECT_THAT(bracket_of(0, 63).iterations, ElementsAre(7, 21, 63));
  EXPECT_EQ(bracket_of(1, 63).trials, 5);
  EXPECT_THAT(bracket_of(1, 63).iterations, ElementsAre(21, 63));
  EXPECT_EQ(bracket_of(2, 63).trials, 3);
  EXPECT_THAT(bracket_of(2, 63).iterations, ElementsAre(63));
  EXPECT_THAT(bracket_of(3, 63).iterations, ElementsAre(7, 21, 63));
  EXPECT_THAT(bracket_of(0, 0).iterations, ElementsAre(0));
  EXPECT_THAT(bracket_of(0, 2).iterations, ElementsAre(1, 1, 2));
  EXPECT_EQ(kept_of(9), 3);
  EXPECT_EQ(kept_of(5), 1);
  EXPECT_EQ(kept_of(1), 1);
}

}  // namespace
}  // namespace likewise
