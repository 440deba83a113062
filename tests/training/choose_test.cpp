// SPDX-License-Identifier: Apache-2.0
#include "training/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/jobs/device_jobs.h"
#include "likewise/parameters.h"
#include "likewise/synthetic.h"
#include "likewise/training.h"
#include "tests/support.h"
#include "training/choose_by_counts.h"

namespace likewise {
namespace {

using testing::HasSubstr;

/// A device of this name with the CPU's jobs.
Device device_called(std::string name, JobTable table = open_device("cpu").jobs().table) {
  return make_device(
      std::move(name), [] { return std::string(); }, std::move(table));
}

/// The CPU without this job.
template <class Missing>
Device device_without(const char* reason) {
  JobTable table = open_device("cpu").jobs().table;
  std::get<Offer<Missing>>(table) = {nullptr, reason};
  return device_called("cpu", std::move(table));
}

/// So many users and items with so many entries each: n_e is about the number of items.
RowCounts even(Index users, Index items, Offset of_user) {
  RowCounts counts;
  counts.of_users.assign(static_cast<std::size_t>(users), of_user);
  counts.of_items.assign(static_cast<std::size_t>(items), users * of_user / items);
  return counts;
}

std::string_view chosen(const RowCounts& counts, Feedback feedback = Feedback::kImplicit) {
  return choose_by_counts(counts, feedback, open_device("cpu")).algorithm;
}

TEST(ChooseAlgorithm, FactorsWherePopularityIsOfFewItems) {
  EXPECT_EQ(chosen(even(10'000, 1700, 17)), "als");
  // Many items of which few are popular: 100,000 of 400,000 entries are of 10.
  RowCounts skewed = even(40'000, 10'000, 10);
  skewed.of_items.assign(10'000, 30);
  std::fill_n(skewed.of_items.begin(), 10, 10'000);
  EXPECT_EQ(chosen(skewed), "als");
}

/// `even`, and so many items more with one entry each.
RowCounts with_rare(RowCounts counts, std::size_t rare) {
  counts.of_items.insert(counts.of_items.end(), rare, 1);
  counts.of_users.insert(counts.of_users.end(), rare / 10, 10);
  return counts;
}

TEST(ChooseAlgorithm, EaseOrNeighboursOfUsersWhereItIsOfMany) {
  const RowCounts some = with_rare(even(10'000, 1900, 19), 4'000);
  EXPECT_EQ(chosen(some), "ease");
  EXPECT_EQ(choose_by_counts(some, Feedback::kImplicit, device_without<EaseJob>("none")).algorithm,
            "user-knn");
  // 30,000 items, whose dense weights take too long.
  EXPECT_EQ(chosen(with_rare(even(50'000, 10'000, 10), 20'000)), "user-knn");
}

TEST(ChooseAlgorithm, NeighboursOfItemsWherePopularityIsFlat) {
  EXPECT_EQ(chosen(even(50'000, 10'000, 10)), "item-knn");
  EXPECT_EQ(chosen(even(2'000, 10'000, 10)), "item-knn");
  EXPECT_EQ(chosen(with_rare(even(50'000, 10'000, 10), 9'000)), "item-knn");
  const AlgorithmChoice choice =
      choose_by_counts(even(50'000, 10'000, 10), Feedback::kImplicit, open_device("cpu"));
  EXPECT_EQ(choice.reason,
            "popularity as of 1.02e+04 equally popular items (more than 1800); a user has 10 "
            "interactions, an item 50; popularity is flat");
}

TEST(ChooseAlgorithm, NeighboursOfItemsWhereFewUsersHaveMostEntries) {
  // A third of 30,000 items have 40 entries, the others 4: n_e is 14,500.
  RowCounts counts;
  counts.of_users.assign(20'000, 24);
  counts.of_items.assign(10'000, 40);
  counts.of_items.insert(counts.of_items.end(), 20'000, 4);
  EXPECT_EQ(chosen(counts), "user-knn");
  // 200 of 20,200 have 1000 each: as many as 1132 equal ones would meet as often.
  counts.of_users.assign(20'000, 14);
  counts.of_users.insert(counts.of_users.end(), 200, 1'000);
  const AlgorithmChoice choice = choose_by_counts(counts, Feedback::kImplicit, open_device("cpu"));
  EXPECT_EQ(choice.algorithm, "item-knn");
  EXPECT_EQ(choice.reason,
            "popularity as of 1.45e+04 equally popular items (more than 1800); a user has 23.8 "
            "interactions, an item 16; few users have most");
  // Not where users have less than items, nor where items have less than 5.
  RowCounts more = counts;
  more.of_users.insert(more.of_users.end(), 20'000, 1);
  EXPECT_EQ(chosen(more), "user-knn");
  counts.of_items.insert(counts.of_items.end(), 70'000, 1);
  EXPECT_EQ(chosen(counts), "user-knn");
}

TEST(ChooseAlgorithm, NeighboursOfItemsWhereFewArePopularAndHistoriesAreShort) {
  EXPECT_EQ(chosen(even(10'000, 150, 9)), "item-knn");
  EXPECT_EQ(chosen(even(10'000, 150, 10)), "als");
  EXPECT_EQ(chosen(even(10'000, 250, 9)), "item-knn");  // all as popular
  EXPECT_EQ(chosen(with_rare(even(10'000, 250, 9), 100)), "als");
  EXPECT_EQ(chosen(even(10'000, 150, 2)), "item-knn");
  const AlgorithmChoice choice =
      choose_by_counts(even(10'000, 150, 9), Feedback::kImplicit, open_device("cpu"));
  EXPECT_EQ(choice.reason,
            "popularity as of 150 equally popular items (at most 1800); a user has 9 interactions "
            "(less than 10, of at most 200 such items)");
}

TEST(ChooseAlgorithm, ShortHistories) {
  EXPECT_EQ(chosen(even(10'000, 1000, 2)), "item-knn");
  EXPECT_EQ(chosen(with_rare(even(10'000, 1000, 2), 400)), "popular");
  EXPECT_EQ(chosen(with_rare(even(10'000, 1000, 3), 400)), "als");
  EXPECT_EQ(chosen(even(50'000, 10'000, 4)), "item-knn");
  EXPECT_EQ(chosen(even(50'000, 10'000, 3)), "als");
}

TEST(ChooseAlgorithm, FactorsWhereHistoriesOfManyItemsAreLong) {
  EXPECT_EQ(chosen(even(2'500, 15'000, 74)), "item-knn");
  EXPECT_EQ(chosen(even(2'500, 15'000, 75)), "als");
  const AlgorithmChoice choice =
      choose_by_counts(even(2'500, 15'000, 78), Feedback::kImplicit, open_device("cpu"));
  EXPECT_EQ(choice.reason,
            "popularity as of 1.62e+04 equally popular items (more than 1800); a user has 78 "
            "interactions, at least 75");
}

TEST(ChooseAlgorithm, NothingInCommon) {
  RowCounts apart;
  apart.of_users.assign(5, 4);
  apart.of_items.assign(20, 1);
  EXPECT_EQ(chosen(apart), "popular");
  EXPECT_EQ(chosen({}), "popular");
  EXPECT_EQ(chosen({}, Feedback::kExplicit), "bias");
}

TEST(ChooseAlgorithm, Ratings) {
  EXPECT_EQ(chosen(even(1000, 800, 36), Feedback::kExplicit), "sgd");
  EXPECT_EQ(chosen(even(1000, 800, 35), Feedback::kExplicit), "als");
  EXPECT_EQ(chosen(even(1000, 800, 5), Feedback::kExplicit), "als");
  EXPECT_EQ(chosen(even(1000, 5000, 15), Feedback::kExplicit), "als");
  EXPECT_EQ(chosen(even(1000, 5000, 10), Feedback::kExplicit), "bias");  // 2 of an item
}

TEST(ChooseAlgorithm, NeighboursNeedADeviceThatFindsThemInTime) {
  const RowCounts counts = even(50'000, 10'000, 10);
  const AlgorithmChoice without =
      choose_by_counts(counts, Feedback::kImplicit, device_without<KnnJob>("it compares no rows"));
  EXPECT_EQ(without.algorithm, "als");
  EXPECT_THAT(without.reason, HasSubstr("item-knn would suit, but cpu: it compares no rows"));
  // sum of c_u (c_u - 1): 200 users with 185,000 items each.
  RowCounts many;
  many.of_users.assign(800'000, 10);
  many.of_users.insert(many.of_users.end(), 200, 185'000);
  many.of_items.assign(300'000, 150);
  const AlgorithmChoice on_cpu = choose_by_counts(many, Feedback::kImplicit, device_called("cpu"));
  EXPECT_EQ(on_cpu.algorithm, "als");
  EXPECT_THAT(on_cpu.reason, HasSubstr("its 6.8e+12 additions are too many for cpu"));
  EXPECT_EQ(choose_by_counts(many, Feedback::kImplicit, device_called("cuda:0")).algorithm,
            "item-knn");
}

TEST(ChooseAlgorithm, GradientDescentNeedsADeviceThatDoesIt) {
  const Device without = device_without<SgdJob>("it takes no steps");
  for (const RowCounts& counts : {even(1000, 800, 40), even(50'000, 10'000, 90)}) {
    const AlgorithmChoice choice = choose_by_counts(counts, Feedback::kExplicit, without);
    EXPECT_EQ(choice.algorithm, "als");
    EXPECT_THAT(choice.reason, HasSubstr("sgd would suit, but cpu: it takes no steps"));
  }
}

TEST(ChooseAlgorithm, CountsAreThoseOfTheMatrix) {
  const Interactions data = generate(parse_shape("300x80x6000"), 1);
  const AlgorithmChoice choice =
      choose_algorithm(data.by_user.view(), Feedback::kImplicit, open_device("cpu"));
  EXPECT_EQ(choice.algorithm, "als");
  EXPECT_THAT(choice.reason, HasSubstr("a user has 20 interactions"));
  // Rows without entries do not count: three users and two items have any.
  const test::Entry entries[] = {{0, 4, 1}, {3, 4, 1}, {3, 8, 1}, {9, 8, 1}};
  const CsrMatrix few = test::make_csr(10, 9, entries);
  const AlgorithmChoice of_few =
      choose_algorithm(few.view(), Feedback::kImplicit, open_device("cpu"));
  EXPECT_THAT(of_few.reason, HasSubstr("as of 3 equally"));  // 4 * 3 / (2 * 1 + 2 * 1)
  EXPECT_THAT(of_few.reason, HasSubstr("a user has 1.33 interactions"));
}

TEST(ChooseAlgorithm, AnAlgorithmThatRefusesTheValuesIsNotChosen) {
  Interactions data = generate(parse_shape("300x80x6000"), 1);
  const auto choice = [&](Feedback feedback) {
    return choose_algorithm(data.by_user.view(), feedback, open_device("cpu"));
  };
  EXPECT_EQ(choice(Feedback::kExplicit).algorithm, "als");
  data.by_user.values[7] = 2e9F;
  const AlgorithmChoice made = choice(Feedback::kExplicit);
  EXPECT_EQ(made.algorithm, "bias");
  EXPECT_THAT(made.reason, HasSubstr("als would suit, but the value 2"));
  // The iALS form of implicit feedback does not look at sizes.
  EXPECT_EQ(choice(Feedback::kImplicit).algorithm, "als");
}

TEST(ChooseAlgorithm, CommonParametersAreOfAll) {
  for (const ParameterInfo& one : common_parameters()) {
    for (const std::string_view algorithm : algorithm_names()) {
      EXPECT_NO_THROW(
          (void)parameter_text(default_params(algorithm, Feedback::kImplicit), one.name));
    }
  }
  EXPECT_EQ(common_parameters().size(), 1U);
  EXPECT_EQ(common_parameters().front().option, "--feedback");
}

}  // namespace
}  // namespace likewise
