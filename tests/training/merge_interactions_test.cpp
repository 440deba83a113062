// SPDX-License-Identifier: Apache-2.0
/// Ids and matrices of two parts as one, compared to a map from pairs to values.
#include "training/merge_interactions.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/merged_value.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"

namespace likewise {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

[[nodiscard]] IdMap integers(const std::vector<std::int64_t>& ids) {
  return IdMap::from_sorted_integers(Array<std::int64_t>::copy_of(ids));
}
[[nodiscard]] IdMap text(const std::vector<std::string>& ids) { return IdMap::from_text(ids); }

[[nodiscard]] std::vector<std::string> names_of(const IdMap& ids) {
  std::vector<std::string> names;
  for (Index i = 0; i < ids.size(); ++i) names.push_back(ids.name(i));
  return names;
}

/// That every id is where its places say.
void expect_places(const UnionOfIds& united, const IdMap& first, const IdMap& second) {
  const auto names_at = [&](const std::vector<Index>& places) {
    std::vector<std::string> names;
    for (const Index place : places) names.push_back(united.ids.name(place));
    return names;
  };
  EXPECT_THAT(names_at(united.first), ElementsAreArray(names_of(first)));
  EXPECT_THAT(names_at(united.second), ElementsAreArray(names_of(second)));
}

struct TwoIdMaps {
  const char* name;
  IdMap first;
  IdMap second;
  std::vector<std::string> united;
  bool is_integer;
};

TEST(UniteIds, KeepsTheOrderOfTheFirst) {
  const UnionOfIds before = unite_ids(integers({-3, 2, 10}), text({"b", "2"}));
  const TwoIdMaps cases[] = {
      {"integers", integers({-3, 2, 10}), integers({2, 7, 30}), {"-3", "2", "7", "10", "30"}, true},
      {"integers as text", integers({2, 10}), text({"2", "7"}), {"2", "7", "10"}, true},
      {"by text", integers({2, 10}), text({"10", "7"}), {"2", "7", "10"}, false},
      {"text",
       text({"b", "d", "é"}),
       text({"a", "d", "e", "ü"}),
       {"a", "b", "d", "e", "é", "ü"},
       false},
      {"text and integers", text({"1x", "b"}), integers({2, 10}), {"10", "1x", "2", "b"}, false},
      {"text joins integers",
       integers({-3, 2, 10}),
       text({"b", "2"}),
       {"-3", "2", "10", "b"},
       false},
      {"more text",
       before.ids.share(),
       text({"a", "30", "x"}),
       {"-3", "2", "10", "30", "a", "b", "x"},
       false},
      {"nothing before", IdMap(), text({"b", "a"}), {"a", "b"}, false},
      {"nothing new", text({"b", "a"}), IdMap(), {"a", "b"}, false},
  };
  for (const TwoIdMaps& one : cases) {
    SCOPED_TRACE(one.name);
    const UnionOfIds united = unite_ids(one.first, one.second);
    EXPECT_THAT(names_of(united.ids), ElementsAreArray(one.united));
    EXPECT_EQ(united.ids.is_integer(), one.is_integer);
    expect_places(united, one.first, one.second);
  }
}

TEST(UniteIds, ShareTheFirstWhereTheSecondHasNoOthers) {
  const IdMap first = text({"a", "b", "c"});
  const IdMap second = text({"c", "a"});
  const UnionOfIds united = unite_ids(first, second);
  EXPECT_EQ(united.ids.chars().data(), first.chars().data());
  EXPECT_THAT(united.first, ElementsAre(0, 1, 2));
  EXPECT_THAT(united.second, ElementsAre(0, 2));
}

/// More than a task's share, with gaps of all lengths on both sides.
TEST(UniteIds, FindsTheirPlacesAmongMany) {
  std::mt19937 random(1);
  const auto drawn = [&](int odds) {
    std::vector<std::int64_t> ids;
    for (std::int64_t id = -60'000; id < 60'000; ++id) {
      if (static_cast<int>(random() % 100) < odds) ids.push_back(id);
    }
    return integers(ids);
  };
  const IdMap first = drawn(60);
  const IdMap second = drawn(2);
  const UnionOfIds united = unite_ids(first, second);
  expect_places(united, first, second);
  std::set<std::int64_t> all(first.integers().begin(), first.integers().end());
  all.insert(second.integers().begin(), second.integers().end());
  EXPECT_THAT(united.ids.integers(), ElementsAreArray(all));
}

using Cells = std::map<std::pair<std::string, std::string>, float>;

/// Of a part with these ids, some rows empty.
[[nodiscard]] CsrMatrix drawn_matrix(const IdMap& users, const IdMap& items, std::mt19937& random) {
  std::vector<test::Entry> entries;
  for (Index user = 0; user < users.size(); ++user) {
    for (Index item = 0; item < items.size() && user % 5 != 3; ++item) {
      if (random() % 3 == 0) {
        entries.push_back({user, item, static_cast<float>(random() % 9) - 3.0F});
      }
    }
  }
  return test::make_csr(users.size(), items.size(), entries);
}

[[nodiscard]] Cells cells_of(const CsrMatrix& matrix, const IdMap& users, const IdMap& items) {
  Cells cells;
  for (Index row = 0; row < matrix.rows; ++row) {
    EXPECT_TRUE(std::ranges::is_sorted(matrix.view().row_columns(row)));
    for (Offset e = matrix.offsets[row]; e < matrix.offsets[row + 1]; ++e) {
      cells[{users.name(row), items.name(matrix.columns[e])}] = matrix.values[e];
    }
  }
  EXPECT_EQ(std::ssize(cells), matrix.nnz()) << "each cell once";
  return cells;
}

/// Two parts of which the second has rows and columns of its own, in another order than the union.
class MergeMatrices : public testing::Test {
 protected:
  MergeMatrices() {
    std::mt19937 random(2);
    first = drawn_matrix(first_users, first_items, random);
    second = drawn_matrix(second_users, second_items, random);
  }
  [[nodiscard]] MergedMatrix merged(Duplicates duplicates) const {
    return merge_matrices(first.view(), second.view(), users, items, duplicates);
  }

  const IdMap first_users = integers({2, 3, 5, 7, 11, 13, 17});
  const IdMap second_users = text({"11", "3", "x", "13", "new", "5"});
  const IdMap first_items = text({"10", "9", "b", "c", "d", "m"});
  const IdMap second_items = text({"a", "9", "d", "m", "z", "10"});
  const UnionOfIds users = unite_ids(first_users, second_users);
  const UnionOfIds items = unite_ids(first_items, second_items);
  CsrMatrix first;
  CsrMatrix second;
};

TEST_F(MergeMatrices, GivesEachCellTheValueOfBoth) {
  const Cells more = cells_of(second, second_users, second_items);
  for (const Duplicates duplicates : {Duplicates::kNewest, Duplicates::kLast, Duplicates::kFirst,
                                      Duplicates::kSum, Duplicates::kMax, Duplicates::kCount}) {
    Cells expected = cells_of(first, first_users, first_items);
    Offset in_both = 0;
    for (const auto& [cell, value] : more) {
      const auto [known, is_new] = expected.emplace(cell, value);
      if (is_new) continue;
      known->second = merged_value(known->second, value, duplicates);
      ++in_both;
    }
    ASSERT_GT(in_both, 0);
    const MergedMatrix both = merged(duplicates);
    EXPECT_EQ(both.in_both, in_both);
    EXPECT_EQ(cells_of(both.matrix, users.ids, items.ids), expected);
  }
}

TEST_F(MergeMatrices, RefusesACellOfBoth) {
  const std::string error =
      test::error_of(ErrorKind::kBadData, [&] { (void)merged(Duplicates::kError); });
  const Cells more = cells_of(second, second_users, second_items);
  const Cells known = cells_of(first, first_users, first_items);
  // The first by rows and columns of the union.
  for (const std::string& user : names_of(users.ids)) {
    for (const std::string& item : names_of(items.ids)) {
      if (!known.contains({user, item}) || !more.contains({user, item})) continue;
      EXPECT_EQ(error, "user '" + user + "' and item '" + item + "' have a value already");
      return;
    }
  }
  FAIL() << "no cell is in both";
}

TEST_F(MergeMatrices, TakesAPartAlone) {
  const UnionOfIds rows = unite_ids(first_users, IdMap());
  const UnionOfIds columns = unite_ids(first_items, IdMap());
  const MergedMatrix alone =
      merge_matrices(first.view(), CsrView(), rows, columns, Duplicates::kError);
  EXPECT_EQ(alone.in_both, 0);
  EXPECT_EQ(cells_of(alone.matrix, first_users, first_items),
            cells_of(first, first_users, first_items));
}

}  // namespace
}  // namespace likewise
