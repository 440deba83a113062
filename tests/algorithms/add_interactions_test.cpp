// SPDX-License-Identifier: Apache-2.0
#include "likewise/add_interactions.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/error.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/learned.h"
#include "tests/support.h"

namespace likewise {
namespace {

using test::Entry;
using test::make_csr;

/// The entries of `all` with users and items named by their numbers; rows [first, last) only.
Interactions part_of(const std::vector<Entry>& all, std::size_t first, std::size_t last) {
  std::set<Index> users;
  std::set<Index> items;
  for (std::size_t e = first; e < last; ++e) users.insert(all[e].row), items.insert(all[e].col);
  const auto ids = [](const std::set<Index>& numbers) {
    std::vector<std::int64_t> sorted(numbers.begin(), numbers.end());
    return IdMap::from_sorted_integers(Array<std::int64_t>::copy_of(sorted));
  };
  Interactions part{ids(users), ids(items), {}, {}};
  std::vector<Entry> entries;
  for (std::size_t e = first; e < last; ++e) {
    entries.push_back({*part.users.find(std::int64_t{all[e].row}),
                       *part.items.find(std::int64_t{all[e].col}), all[e].value});
  }
  part.by_user = make_csr(part.users.size(), part.items.size(), entries);
  return part;
}

Model trained(Interactions data, const NeighbourParams& params, const Backend& backend) {
  Model model;
  model.users = std::move(data.users);
  model.items = std::move(data.items);
  model.history = std::move(data.by_user);
  model.params = params;
  model.learned = train_neighbours(model.history.view(), params, backend);
  return model;
}

std::vector<Entry> shuffled_entries(Index users, Index items, double per_user) {
  const CsrMatrix m = test::random_csr(users, items, per_user, 11);
  std::vector<Entry> entries;
  for (Index u = 0; u < users; ++u) {
    for (Offset e = m.offsets[u]; e < m.offsets[u + 1]; ++e) {
      entries.push_back({u, m.columns[e], m.values[e]});
    }
  }
  std::shuffle(entries.begin(), entries.end(), std::mt19937_64(3));
  return entries;
}

TEST(AddInteractions, IsWhatTrainingOnAllWouldGive) {
  const auto backend = open_backend("cpu");
  const std::vector<Entry> all = shuffled_entries(120, 90, 7.0);
  for (const Side side : {Side::kUsers, Side::kItems}) {
    for (std::size_t s = 0; s < std::size(kSimilarityNames); ++s) {
      for (const std::size_t added : {std::size_t{1}, std::size_t{12}, all.size() / 2}) {
        NeighbourParams params = NeighbourParams::defaults(Feedback::kExplicit);
        params.side = side;
        params.similarity = static_cast<Similarity>(s);
        params.neighbours = 4;
        const std::size_t before = all.size() - added;
        const Model old = trained(part_of(all, 0, before), params, *backend);
        const AddedInteractions grown =
            add_interactions(old, part_of(all, before, all.size()), Duplicates::kLast, *backend);
        const Model anew = trained(part_of(all, 0, all.size()), params, *backend);
        SCOPED_TRACE(testing::Message() << kSimilarityNames[s] << " of " << side_name(side) << ", "
                                        << added << " added");
        grown.model.validate();
        EXPECT_TRUE(std::ranges::equal(grown.model.users.integers(), anew.users.integers()));
        EXPECT_TRUE(
            std::ranges::equal(grown.model.history.columns.span(), anew.history.columns.span()));
        EXPECT_TRUE(std::ranges::equal(test::lists_of(grown.model).offsets.span(),
                                       test::lists_of(anew).offsets.span()));
        EXPECT_TRUE(std::ranges::equal(test::lists_of(grown.model).rows.span(),
                                       test::lists_of(anew).rows.span()));
        EXPECT_TRUE(std::ranges::equal(test::lists_of(grown.model).similarities.span(),
                                       test::lists_of(anew).similarities.span()));
        EXPECT_TRUE(std::ranges::equal(test::baselines_of(grown.model).users.span(),
                                       test::baselines_of(anew).users.span()));
      }
    }
  }
}

TEST(AddInteractions, ComparesOnlyWhatChanged) {
  const auto backend = open_backend("cpu");
  const std::vector<Entry> all = shuffled_entries(400, 300, 10.0);
  NeighbourParams params;
  const Model old = trained(part_of(all, 0, all.size() - 3), params, *backend);
  const AddedInteractions grown =
      add_interactions(old, part_of(all, all.size() - 3, all.size()), Duplicates::kSum, *backend);
  EXPECT_GE(grown.rows_searched, 1);
  EXPECT_LT(grown.rows_searched, 300 / 3);
}

TEST(AddInteractions, ACellOfBothIsWhatThePolicySays) {
  const auto backend = open_backend("cpu");
  const std::vector<Entry> entries{{0, 0, 2.0F}, {1, 0, 3.0F}, {1, 1, 4.0F}};
  const std::vector<Entry> later{{1, 1, 1.0F}};
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    const Model old =
        trained(part_of(entries, 0, 3), NeighbourParams::defaults(feedback), *backend);
    const auto added = [&](Duplicates duplicates) {
      return add_interactions(old, part_of(later, 0, 1), duplicates, *backend);
    };
    EXPECT_EQ(added(Duplicates::kSum).model.history.values[2], 5.0F);
    EXPECT_EQ(added(Duplicates::kLast).model.history.values[2], 1.0F);
    EXPECT_EQ(added(Duplicates::kMax).model.history.values[2], 4.0F);
    EXPECT_EQ(added(Duplicates::kMax).repeated, 1);
    EXPECT_THAT(test::error_of(ErrorKind::kBadData, [&] { (void)added(Duplicates::kError); }),
                testing::HasSubstr("user '1' and item '1'"));
    EXPECT_THAT(
        test::error_of(ErrorKind::kInvalidArgument, [&] { (void)added(Duplicates::kAuto); }),
        testing::HasSubstr("sum, last, max"));
  }
}

TEST(AddInteractions, NeedsNeighbours) {
  Model model;
  EXPECT_THROW((void)add_interactions(model, {}, Duplicates::kLast, *open_backend("cpu")), Error);
}

}  // namespace
}  // namespace likewise
