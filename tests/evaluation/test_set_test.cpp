// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "likewise/control.h"
#include "likewise/evaluation.h"
#include "tests/csr_entries.h"
#include "tests/support.h"

namespace likewise {
namespace {

using test::Entry;
using test::make_csr;

IdMap texts(std::vector<std::string> ids) { return IdMap::from_text(ids); }

IdMap integers(std::vector<std::int64_t> ids) {
  return IdMap::from_sorted_integers(Array<std::int64_t>::copy_of(ids));
}

Model model_of(IdMap users, IdMap items) {
  Model model;
  model.users = std::move(users);
  model.items = std::move(items);
  return model;
}

TEST(TestSet, SplitsOffWhatTheModelDoesNotKnow) {
  const Model model = model_of(texts({"ann", "bob", "eve"}), texts({"x", "y"}));
  const std::vector<Entry> entries{
      {0, 0, 1.0F}, {0, 1, 2.0F}, {0, 2, 3.0F}, {1, 1, 4.0F}, {1, 0, 5.0F}};
  const Interactions test{
      texts({"bob", "tom"}), texts({"new", "x", "y"}), make_csr(2, 3, entries), {}};
  const TestSet set = make_test_set(model, test);
  validate(set.by_user.view(), "test set");
  ASSERT_EQ(set.by_user.rows, 3);
  ASSERT_EQ(set.by_user.cols, 2);
  ASSERT_EQ(set.by_user.nnz(), 2);
  EXPECT_EQ(set.by_user.view().row_size(1), 2);
  EXPECT_EQ(set.by_user.columns[1], 1);
  EXPECT_EQ(set.by_user.values[1], 3.0F);
  EXPECT_EQ(set.fallback_users, (std::vector<Index>{1, -1, -1}));
  EXPECT_EQ(set.fallback_items, (std::vector<Index>{-1, -1, 0}));
  EXPECT_EQ(set.fallback_values, (std::vector<float>{1.0F, 5.0F, 4.0F}));
  EXPECT_EQ(set.unknown_users, 2);
  EXPECT_EQ(set.unknown_items, 2);
}

TEST(TestSet, RowsStaySortedWhenTextMeetsIntegers) {
  // As text "10" sorts before "9"; as integers after it.
  const Model model = model_of(integers({9, 10}), integers({2, 9, 10, 11}));
  const std::vector<Entry> entries{{0, 0, 1.0F}, {0, 1, 2.0F}, {0, 2, 3.0F}, {1, 2, 4.0F}};
  const Interactions test{texts({"10", "9"}), texts({"10", "2", "9"}), make_csr(2, 3, entries), {}};
  const TestSet set = make_test_set(model, test);
  validate(set.by_user.view(), "test set");
  EXPECT_TRUE(set.fallback_users.empty());
  ASSERT_EQ(set.by_user.view().row_size(0), 1);
  EXPECT_EQ(set.by_user.values[0], 4.0F);  // user 9
  ASSERT_EQ(set.by_user.view().row_size(1), 3);
  EXPECT_EQ(std::vector<Index>(&set.by_user.columns[1], &set.by_user.columns[1] + 3),
            (std::vector<Index>{0, 1, 2}));
  EXPECT_EQ(std::vector<float>(&set.by_user.values[1], &set.by_user.values[1] + 3),
            (std::vector<float>{2.0F, 3.0F, 1.0F}));
}

TEST(TestSet, TheModelsOwnIndicesStay) {
  const CsrMatrix m = test::random_csr(700, 50, 9.0);
  const Model model = model_of(IdMap::range(700), IdMap::range(50));
  const Interactions test{IdMap::range(700), IdMap::range(50), m.clone(), {}};
  for (const int threads : {1, 3}) {
    with_threads(threads, [&] {
      const TestSet set = make_test_set(model, test);
      EXPECT_TRUE(std::ranges::equal(set.by_user.offsets, m.offsets));
      EXPECT_TRUE(std::ranges::equal(set.by_user.columns, m.columns));
      EXPECT_TRUE(std::ranges::equal(set.by_user.values, m.values));
      EXPECT_EQ(set.unknown_users + set.unknown_items, 0);
    });
  }
}

TEST(TestSet, EmptyOnEitherSide) {
  const CsrMatrix m = test::random_csr(3, 4, 2.0);
  const Interactions test{IdMap::range(3), IdMap::range(4), m.clone(), {}};
  const TestSet nothing_known = make_test_set(Model{}, test);
  EXPECT_EQ(nothing_known.by_user.nnz(), 0);
  EXPECT_EQ(nothing_known.unknown_users, m.nnz());
  EXPECT_EQ(static_cast<Offset>(nothing_known.fallback_values.size()), m.nnz());
  const TestSet no_test = make_test_set(model_of(IdMap::range(3), IdMap::range(4)), Interactions{});
  EXPECT_EQ(no_test.by_user.rows, 3);
  EXPECT_EQ(no_test.by_user.nnz(), 0);
  EXPECT_TRUE(no_test.fallback_values.empty());
}

}  // namespace
}  // namespace likewise
