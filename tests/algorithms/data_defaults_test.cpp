// SPDX-License-Identifier: Apache-2.0
#include "algorithms/als/data_defaults.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "algorithms/als/weights.h"
#include "algorithms/parameters/rules.h"
#include "likewise/parameters.h"
#include "tests/csr_entries.h"

namespace likewise {
namespace {

/// users x items with every `step`-th cell, row by row, in the first `full` columns.
CsrMatrix matrix_of(Index users, Index items, Index full, Index step) {
  std::vector<Offset> offsets = {0};
  std::vector<Index> columns;
  for (Index u = 0; u < users; ++u) {
    for (Index i = u % step; i < full; i += step) columns.push_back(i);
    offsets.push_back(std::ssize(columns));
  }
  CsrMatrix matrix{users, items, Array<Offset>::uninitialized(std::ssize(offsets)),
                   Array<Index>::uninitialized(std::ssize(columns)),
                   Array<float>::uninitialized(std::ssize(columns))};
  std::ranges::copy(offsets, matrix.offsets.begin());
  std::ranges::copy(columns, matrix.columns.begin());
  std::ranges::fill(matrix.values, 2.0F);
  return matrix;
}

TEST(DataDefaults, ValuesOfAGivenShape) {
  // 100 users with 5 of 50 items: d = 0.1, 10 users an item.
  const CsrMatrix matrix = matrix_of(100, 50, 50, 10);
  const AlsParams params = data_defaults(matrix.view(), {}, {});
  EXPECT_DOUBLE_EQ(*params.unobserved_weight, 0.8);  // 8 d
  EXPECT_DOUBLE_EQ(params.regularization_exponent, 1.0);
  // n_e = 500 499 / (50 10 9) = 55.44 and s = 55.44 / 400 (1 - 55.44 / 5000) = 0.13706:
  // 0.05 (1 / sqrt(5) + 1 / sqrt(10)) (1 + 6 s / 5) = 0.038172 1.16447 = 0.044450
  EXPECT_DOUBLE_EQ(params.regularization, 0.0445);
  EXPECT_EQ(params.alpha, AlsParams{}.alpha);
  EXPECT_EQ(params.factors, AlsParams{}.factors);
}

TEST(DataDefaults, ItemsThatNobodyHasDoNotCount) {
  const AlsParams params = data_defaults(matrix_of(100, 5000, 50, 10).view(), {}, {});
  EXPECT_DOUBLE_EQ(*params.unobserved_weight, 0.8);
  EXPECT_DOUBLE_EQ(params.regularization, 0.0445);
}

TEST(DataDefaults, ShortHistoriesOfPopularItemsAreShrunkMore) {
  // 10,000 users with 5 of 1000 items: n_e = 1020.4 and s = 0.79592.
  const AlsParams params = data_defaults(matrix_of(10'000, 1'000, 1'000, 200).view(), {}, {});
  // 0.05 (1 / sqrt(5) + 1 / sqrt(50)) (1 + 6 s / 5) = 0.029432 1.95510
  EXPECT_DOUBLE_EQ(params.regularization, 0.0575);
}

TEST(DataDefaults, ManyItemsThatAreEquallyPopularNeedLessShrinkage) {
  // 20,000 users with 5 of 10,000 items: n_e = 11,111.
  const CsrMatrix matrix = matrix_of(20'000, 10'000, 10'000, 2'000);
  for (const bool given : {false, true}) {
    const AlsParams params = data_defaults(matrix.view(), {}, {.factors = given});
    EXPECT_EQ(params.factors, given ? 64 : 512);
    EXPECT_DOUBLE_EQ(*params.unobserved_weight, 0.004);
    // 0.05 (1 / sqrt(5) + 1 / sqrt(10)) / 2
    EXPECT_DOUBLE_EQ(params.regularization, 0.0191);
  }
}

/// The matrix and one user more, with so many items that nobody else has.
CsrMatrix with_rare(const CsrMatrix& matrix, Index rare) {
  CsrMatrix more{matrix.rows + 1, matrix.cols + rare,
                 Array<Offset>::uninitialized(matrix.offsets.size() + 1),
                 Array<Index>::uninitialized(matrix.columns.size() + rare),
                 Array<float>::uninitialized(matrix.columns.size() + rare)};
  std::ranges::copy(matrix.offsets, more.offsets.begin());
  *(more.offsets.end() - 1) = more.columns.size();
  std::iota(std::ranges::copy(matrix.columns, more.columns.begin()).out, more.columns.end(),
            matrix.cols);
  std::ranges::fill(more.values, 2.0F);
  return more;
}

TEST(DataDefaults, FactorsFollowTheEntriesAndTheCost) {
  // 100 entries of a user, n_e = 1000: a factor for each 800 entries, as a power of 2.
  const auto factors = [](Index users) {
    return data_defaults(matrix_of(users, 1'000, 1'000, 10).view(), {}, {}).factors;
  };
  EXPECT_EQ(factors(1'000), 64);   // 100,000 entries
  EXPECT_EQ(factors(1'030), 128);  // 103,000
  EXPECT_EQ(factors(4'000), 256);  // 400,000
  EXPECT_EQ(factors(4'100), 512);  // 410,000
  // 10,000 iterations of more than 128 factors would take more than 20 minutes of a core.
  const CsrMatrix matrix = matrix_of(4'100, 1'000, 1'000, 10);
  EXPECT_EQ(data_defaults(matrix.view(), {.iterations = 10'000}, {}).factors, 128);
  EXPECT_EQ(data_defaults(matrix.view(), {.iterations = 1'000'000}, {}).factors, 64);
  EXPECT_EQ(data_defaults(matrix.view(), {}, {.factors = true}).factors, 64);
  // No item has two entries.
  const CsrMatrix one = test::make_csr(1, 1, std::vector<test::Entry>{{0, 0, 1.0F}});
  EXPECT_EQ(data_defaults(one.view(), {}, {}).factors, 64);
}

TEST(DataDefaults, RatingsAreShrunkByTheirSpreadAndShortHistories) {
  AlsParams ratings = AlsParams::defaults(Feedback::kExplicit);
  // 5 of a user, and of an item 10 values 0 or 4: lambda = 2 (1 + 6 / 5 + 3 / 10).
  CsrMatrix matrix = matrix_of(100, 50, 50, 10);
  for (Offset e = 0; e < matrix.nnz(); ++e) matrix.values[e] = e % 2 == 0 ? 0.0F : 4.0F;
  const AlsParams params = data_defaults(matrix.view(), ratings, {});
  EXPECT_DOUBLE_EQ(params.regularization, 5.0);
  EXPECT_DOUBLE_EQ(params.regularization_exponent, 0.5);
  EXPECT_EQ(params.factors, 64);
  // Ten times the values, ten times as much.
  for (Offset e = 0; e < matrix.nnz(); ++e) matrix.values[e] *= 10.0F;
  EXPECT_DOUBLE_EQ(data_defaults(matrix.view(), ratings, {}).regularization, 50.0);
  // Of another exponent as much in sum: 50 (100 sqrt(5) + 50 sqrt(10)) / (100 5 + 50 10).
  const AlsParams weighted =
      data_defaults(matrix.view(), ratings, {.regularization_exponent = true});
  EXPECT_DOUBLE_EQ(weighted.regularization_exponent, 1.0);
  EXPECT_DOUBLE_EQ(weighted.regularization, 19.1);
  // What is given stays what it was.
  ratings.regularization = 0.07;
  const AlsParams given = data_defaults(matrix.view(), ratings, {.regularization = true});
  EXPECT_DOUBLE_EQ(given.regularization, 0.07);
  EXPECT_DOUBLE_EQ(given.regularization_exponent, 1.0);
  // Values that are all alike.
  std::ranges::fill(matrix.values, 3.0F);
  EXPECT_DOUBLE_EQ(
      data_defaults(matrix.view(), AlsParams::defaults(Feedback::kExplicit), {}).regularization,
      2.5);
}

TEST(DataDefaults, MoreFactorsAreShrunkLessWherePopularityIsNotFlat) {
  // 130,000 entries, 6.4997 of a user and 3.25 of an item; n_e = 18,778 of 40,000 items.
  const CsrMatrix matrix = with_rare(matrix_of(20'000, 10'000, 10'000, 2'000), 30'000);
  const auto lambda = [&](int factors) {
    return data_defaults(matrix.view(), {.factors = factors}, {.factors = true}).regularization;
  };
  // 0.05 (1 / sqrt(6.4997) + 1 / sqrt(3.25)) = 0.047347
  EXPECT_DOUBLE_EQ(lambda(16), 0.0473);
  EXPECT_DOUBLE_EQ(lambda(64), 0.0473);
  EXPECT_DOUBLE_EQ(lambda(128), 0.0335);
  EXPECT_DOUBLE_EQ(lambda(256), 0.0237);
  EXPECT_DOUBLE_EQ(lambda(1024), 0.0237);
  EXPECT_DOUBLE_EQ(data_defaults(matrix.view(), {}, {}).regularization, 0.0237);
}

TEST(DataDefaults, FactorsOfLongHistoriesAreShrunkAsMuch) {
  // 600 users with `of_user` of 3000 items, and one with 9000 others: 15 entries a user more.
  const auto e = [](Index of_user) {
    const CsrMatrix matrix = with_rare(matrix_of(600, 3'000, 3'000, 3'000 / of_user), 9'000);
    const double users = (600.0 * of_user + 9'000.0) / 601.0;
    const double items = (600.0 * of_user + 9'000.0) / 12'000.0;
    return data_defaults(matrix.view(), {}, {}).regularization /
           (0.05 * (1.0 / std::sqrt(users) + 1.0 / std::sqrt(items)));
  };
  EXPECT_NEAR(e(50), 0.5, 0.01);
  EXPECT_NEAR(e(75), 1.0, 0.01);
}

TEST(DataDefaults, WhatWasGivenStays) {
  const CsrMatrix matrix = matrix_of(100, 50, 50, 10);
  AlsParams asked{.regularization = 0.5};
  AlsParams params = data_defaults(matrix.view(), asked, {.regularization = true});
  EXPECT_EQ(params.regularization, 0.5);
  EXPECT_DOUBLE_EQ(*params.unobserved_weight, 0.8);
  EXPECT_EQ(params.regularization_exponent, 1.0);

  // A sixteenth of the weight: four times the lambda.
  asked = {.unobserved_weight = 0.05};
  params = data_defaults(matrix.view(), asked, {.unobserved_weight = true});
  EXPECT_EQ(*params.unobserved_weight, 0.05);
  EXPECT_DOUBLE_EQ(params.regularization, 0.178);  // 4 x 0.044450

  // Hu's form is as it was published, whatever the data.
  params = data_defaults(matrix.view(), {}, {.hu = true});
  EXPECT_FALSE(params.unobserved_weight.has_value());
  EXPECT_EQ(params.regularization, 0.01);
  EXPECT_EQ(params.regularization_exponent, 0.0);

  const AlsParams ratings = AlsParams::defaults(Feedback::kExplicit);
  params = data_defaults(matrix.view(), ratings, {});
  EXPECT_FALSE(params.unobserved_weight.has_value());
  EXPECT_EQ(params.factors, ratings.factors);
}

TEST(DataDefaults, AnotherExponentPenalisesAsMuchInSum) {
  const CsrMatrix matrix = matrix_of(64, 20, 17, 3);
  const CsrMatrix by_item = transpose(matrix.view());
  const auto total = [&](const AlsParams& params) {
    double sum = 0.0;
    for (Index u = 0; u < matrix.rows; ++u) {
      sum += row_regularization(params, matrix.view().row_size(u), 17);
    }
    for (Index i = 0; i < 17; ++i) {  // the others have no entries
      sum += row_regularization(params, by_item.view().row_size(i), by_item.cols);
    }
    return sum;
  };
  const AlsParams usual = data_defaults(matrix.view(), {}, {});
  for (const double nu : {0.0, 0.5, 1.0}) {
    const AlsParams asked{.regularization_exponent = nu};
    const AlsParams params = data_defaults(matrix.view(), asked, {.regularization_exponent = true});
    EXPECT_EQ(params.regularization_exponent, nu);
    // Each is rounded to three digits.
    EXPECT_NEAR(total(params), total(usual), 0.01 * total(usual)) << nu;
  }
}

TEST(DataDefaults, NoDataGivesValuesInRange) {
  for (const Index rows : {0, 3}) {
    const CsrMatrix none = matrix_of(rows, 4, 0, 1);
    AlsParams params = data_defaults(none.view(), {}, {});
    EXPECT_NO_THROW(params.validate());
    params = data_defaults(none.view(), {.regularization_exponent = 0.0},
                           {.regularization_exponent = true});
    EXPECT_NO_THROW(params.validate());
  }
}

/// "own mean": what suits of lists and scale.
std::string default_sums(const CsrMatrix& matrix, KnnParams params,
                         const std::vector<std::string>& given = {}) {
  const TrainingParams found = with_data_defaults(matrix.view(), params, given);
  return parameter_text(found, "sum_lists") + " " + parameter_text(found, "sum_scale");
}

TEST(DataDefaults, SumsOfItemsBecomeMeansWhereManyHaveEnoughEntries) {
  // n_e is about the number of items; a user's entries times an item's are 800, 50 and 800.
  const CsrMatrix many = matrix_of(20'000, 10'000, 10'000, 500);
  EXPECT_EQ(default_sums(many, {}), "own mean");
  EXPECT_EQ(default_sums(many, {}, {"neighbours"}), "own mean");
  EXPECT_EQ(default_sums(matrix_of(20'000, 10'000, 10'000, 2'000), {}), "reverse none");
  EXPECT_EQ(default_sums(matrix_of(2'000, 1'000, 1'000, 50), {}), "reverse none");
}

TEST(DataDefaults, WhatIsGivenOfSumsStays) {
  const CsrMatrix many = matrix_of(20'000, 10'000, 10'000, 500);
  EXPECT_EQ(default_sums(many, {}, {"sum_scale"}), "reverse none");
  EXPECT_EQ(default_sums(many, {}, {"sum_lists"}), "own mean");
  EXPECT_EQ(default_sums(many, {}, {"sum_lists", "sum_scale"}), "own none");
  EXPECT_EQ(default_sums(many, {.sum_lists = SumLists::kBoth}, {"sum_lists"}), "both none");
  const CsrMatrix few = matrix_of(2'000, 1'000, 1'000, 50);
  EXPECT_EQ(default_sums(few, {.sum_scale = SumScale::kMean}, {"sum_scale"}), "own mean");
  EXPECT_EQ(default_sums(few, {.side = Side::kUsers}, {"sum_lists"}), "own none");
}

TEST(DataDefaults, UsersWithShortHistoriesHaveMoreNeighbours) {
  const auto neighbours = [](Index step, KnnParams params,
                             const std::vector<std::string>& given = {}) {
    const CsrMatrix matrix = matrix_of(2'000, 1'000, 1'000, step);
    return parameter_text(with_data_defaults(matrix.view(), params, given), "neighbours");
  };
  const KnnParams users{.side = Side::kUsers};
  EXPECT_EQ(neighbours(200, users), "200");  // 2000 / 5 is more
  EXPECT_EQ(neighbours(50, users), "100");
  EXPECT_EQ(neighbours(10, users), "60");  // 2000 / 100 is less
  EXPECT_EQ(neighbours(50, users, {"neighbours"}), "40");
  EXPECT_EQ(neighbours(50, {}), "40");  // items
  EXPECT_EQ(neighbours(50, KnnParams::defaults(Feedback::kExplicit, Side::kUsers)), "40");
}

TEST(DataDefaults, WhatIsComparedByBm25WhereManyItemsArePopular) {
  const auto similarity = [](const CsrMatrix& matrix, KnnParams params,
                             const std::vector<std::string>& given = {}) {
    return parameter_text(with_data_defaults(matrix.view(), params, given), "similarity");
  };
  const KnnParams users{.side = Side::kUsers};
  const CsrMatrix flat = matrix_of(20'000, 10'000, 10'000, 2'000);
  const CsrMatrix uneven = with_rare(flat, 30'000);
  EXPECT_EQ(similarity(uneven, users), "bm25");
  EXPECT_EQ(similarity(uneven, users, {"similarity"}), "cosine");
  EXPECT_EQ(similarity(uneven, {}), "tfidf");  // items
  EXPECT_EQ(similarity(flat, {}), "bm25");
  EXPECT_EQ(similarity(uneven, KnnParams::defaults(Feedback::kExplicit, Side::kUsers)),
            "pearson-baseline");
  EXPECT_EQ(similarity(flat, users), "tfidf");
  const CsrMatrix long_histories = with_rare(matrix_of(600, 3'000, 3'000, 40), 9'000);
  EXPECT_EQ(similarity(long_histories, users), "tfidf");
  EXPECT_EQ(similarity(with_rare(matrix_of(600, 3'000, 3'000, 60), 9'000), users), "bm25");
  EXPECT_EQ(similarity(matrix_of(2'000, 1'000, 1'000, 50), users), "tfidf");
}

TEST(DataDefaults, SimilaritiesOfItemsAreShrunk) {
  const CsrMatrix matrix = matrix_of(100, 50, 50, 10);
  const auto shrinkage = [&](KnnParams params, const std::vector<std::string>& given = {}) {
    return parameter_text(with_data_defaults(matrix.view(), params, given), "shrinkage");
  };
  EXPECT_EQ(shrinkage({}), "20");
  EXPECT_EQ(shrinkage({}, {"shrinkage"}), "none");
  EXPECT_EQ(shrinkage({.side = Side::kUsers}), "none");
  EXPECT_EQ(shrinkage({.similarity = Similarity::kDot}, {"similarity"}), "none");
  EXPECT_EQ(shrinkage(KnnParams::defaults(Feedback::kExplicit)), "none");
}

TEST(DataDefaults, SumsOverUsersAreOfEitherList) {
  EXPECT_EQ(default_sums(matrix_of(2'000, 1'000, 1'000, 50), {.side = Side::kUsers}), "both none");
}

TEST(DataDefaults, ListsOfASimilarityWithTwoDirectionsAreTheRowsOwn) {
  const CsrMatrix few = matrix_of(2'000, 1'000, 1'000, 50);
  for (const Side side : {Side::kItems, Side::kUsers}) {
    const KnnParams params{.side = side, .similarity = Similarity::kConditional};
    EXPECT_EQ(default_sums(few, params, {"similarity"}), "own none");
  }
}

TEST(DataDefaults, PredictedRatingsHaveNoSums) {
  const CsrMatrix many = matrix_of(20'000, 10'000, 10'000, 500);
  for (const Side side : {Side::kItems, Side::kUsers}) {
    EXPECT_EQ(default_sums(many, KnnParams::defaults(Feedback::kExplicit, side)), "own none");
  }
}

TEST(DataDefaults, FrontDoorsNameWhatWasGiven) {
  const CsrMatrix matrix = matrix_of(100, 50, 50, 10);
  const auto text = [&](const std::vector<std::string>& given, std::string_view name) {
    return parameter_text(with_data_defaults(matrix.view(), AlsParams{}, given), name);
  };
  EXPECT_EQ(text({}, "unobserved_weight"), "0.8");
  EXPECT_EQ(text({"factors"}, "regularization"), "0.0445");
  EXPECT_EQ(text({"regularization"}, "regularization"), "0.01");
  for (const char* hu : {"alpha", "confidence"}) {
    EXPECT_EQ(text({hu}, "unobserved_weight"), "none");
    EXPECT_EQ(text({hu}, "regularization"), "0.01");
    EXPECT_EQ(text({hu}, "regularization_exponent"), "0");
  }
  const TrainingParams others = default_params("item-knn", Feedback::kImplicit);
  EXPECT_EQ(parameter_text(with_data_defaults(matrix.view(), others), "similarity"), "tfidf");
}

}  // namespace
}  // namespace likewise
