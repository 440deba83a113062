// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "likewise/error.h"
#include "likewise/make_interactions.h"
#include "tests/data/text/read_support.h"

namespace likewise::test {
namespace {

/// Encoded one at a time, the rows are those of the ids themselves.
template <class Id>
void expect_same_rows(const std::vector<Id>& users, const std::vector<Id>& items) {
  IdEncoder user_ids;
  IdEncoder item_ids;
  std::vector<std::int32_t> user_codes;
  std::vector<std::int32_t> item_codes;
  for (std::size_t row = 0; row < users.size(); ++row) {
    user_codes.push_back(user_ids.code(users[row]));
    item_codes.push_back(item_ids.code(items[row]));
  }
  const Interactions direct =
      make_interactions(std::span<const Id>(users), std::span<const Id>(items));
  const Interactions encoded =
      make_interactions(user_ids.column(user_codes), item_ids.column(item_codes));
  EXPECT_EQ(user_ids.size(), direct.users.size());
  EXPECT_EQ(encoded.users.is_integer(), direct.users.is_integer());
  expect_same(encoded, direct);
}

TEST(IdEncoder, MakesTheMatrixOfTheIds) {
  std::vector<std::int64_t> users;
  std::vector<std::int64_t> items;
  for (std::int64_t row = 0; row < 5000; ++row) {  // more ids than the table's first slots
    users.push_back(row * 7919 % 2503 - 100);
    items.push_back(row * row % 4001);
  }
  expect_same_rows(users, items);
  std::vector<std::string> text;
  for (const auto* side : {&users, &items}) {
    for (const std::int64_t id : *side) text.push_back("id " + std::to_string(id));
  }
  const std::vector<std::string_view> views(text.begin(), text.end());
  const auto half = views.begin() + static_cast<std::ptrdiff_t>(users.size());
  expect_same_rows<std::string_view>({views.begin(), half}, {half, views.end()});
}

TEST(IdEncoder, CodesCountInTheOrderOfComing) {
  IdEncoder ids;
  EXPECT_EQ(ids.code("b"), 0);
  EXPECT_EQ(ids.code("a"), 1);
  EXPECT_EQ(ids.code("b"), 0);
  EXPECT_EQ(ids.size(), 2);
}

TEST(IdEncoder, RefusesToMixKinds) {
  IdEncoder texts;
  EXPECT_EQ(texts.code("7"), 0);
  EXPECT_THROW((void)texts.code(std::int64_t{7}), Error);
  IdEncoder integers;
  EXPECT_EQ(integers.code(std::int64_t{7}), 0);
  EXPECT_THROW((void)integers.code("7"), Error);
}

}  // namespace
}  // namespace likewise::test
