// SPDX-License-Identifier: Apache-2.0
#include "core/placed_error.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace likewise {
namespace {

[[nodiscard]] const char* what_of(Side side) { return side == Side::kUsers ? "user" : "item"; }

[[nodiscard]] std::string numbered(std::span<const DataRow> rows, const PlacedError::Text& text) {
  std::vector<std::string> names;
  for (const DataRow& row : rows) {
    names.push_back(fmt::format("{} row {}", what_of(row.side), row.index));
  }
  return text(names);
}

/// Of a value, which has a user and an item; else nothing.
[[nodiscard]] std::string place_in_file(std::span<const DataRow> rows, const IdMap& users,
                                        const IdMap& items, const Interactions& data) {
  const bool is_value = rows.size() == 2 && rows[0].side != rows[1].side;
  if (!is_value || !data.place_in_file) return {};
  const bool user_first = rows[0].side == Side::kUsers;
  return data.place_in_file(users.name(rows[user_first ? 0 : 1].index),
                            items.name(rows[user_first ? 1 : 0].index));
}

}  // namespace

PlacedError::PlacedError(ErrorKind kind, std::vector<DataRow> rows, Text text)
    : Error(kind, numbered(rows, text)), rows_(std::move(rows)), text_(std::move(text)) {}

PlacedError PlacedError::moved(const std::function<Index(Side, Index)>& places) const {
  std::vector<DataRow> rows = rows_;
  for (DataRow& row : rows) row.index = places(row.side, row.index);
  return {kind(), std::move(rows), text_};
}

Error PlacedError::named(const IdMap& users, const IdMap& items, const Interactions& data) const {
  std::vector<std::string> names;
  for (const DataRow& row : rows_) {
    const IdMap& ids = row.side == Side::kUsers ? users : items;
    names.push_back(fmt::format("{} '{}'", what_of(row.side), printable(ids.name(row.index))));
  }
  const std::string text = text_(names);
  const std::string place = place_in_file(rows_, users, items, data);
  return {kind(), place.empty() ? text : fmt::format("{}: {}", place, text)};
}

}  // namespace likewise
