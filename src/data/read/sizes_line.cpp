// SPDX-License-Identifier: Apache-2.0
#include "data/read/sizes_line.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise {
namespace {

/// How many different ids there are besides the one of the first line.
Offset others(const IdMap& ids, const CsrView& rows, Offset id) {
  const auto index = ids.find(id);
  const bool alone = index && rows.row_size(*index) == 1;
  return Offset{ids.size()} - (alone ? 1 : 0);
}

}  // namespace

std::optional<SizesLine> possible_sizes(const std::vector<std::string>& first_line) {
  if (first_line.size() != 3) return std::nullopt;
  Offset numbers[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const auto number = canonical_integer(first_line[i]);
    if (!number || *number < 1) return std::nullopt;
    numbers[i] = *number;
  }
  const auto [users, items, rows] = numbers;
  constexpr Offset kMost = std::numeric_limits<Index>::max();
  if (users > kMost || items > kMost || rows < std::max(users, items) || rows > users * items) {
    return std::nullopt;
  }
  return SizesLine{users, items, rows};
}

void refuse_sizes_line(const FileFormat& format, const Interactions& data, Offset rows) {
  if (!format.sizes || rows < 3) return;
  const auto& [users, items, declared] = *format.sizes;
  const auto at_least = [&](double least) {
    return std::count_if(data.by_user.values.begin(), data.by_user.values.end(),
                         [&](float value) { return static_cast<double>(value) >= least; });
  };
  const auto largest = static_cast<double>(declared);
  const bool exact = declared == rows - 1 && at_least(largest) == 1;
  if (!exact && at_least(largest / 10) != 1) return;
  const Offset users_after = others(data.users, data.by_user.view(), users);
  const Offset items_after = others(data.items, transpose(data.by_user.view()).view(), items);
  if (users_after > users || items_after > items) return;
  throw Error(
      ErrorKind::kBadData,
      fmt::format("{0}:{1}: '{2} {3} {4}' looks like the sizes of the data ({2} users, {3} items, "
                  "{4} rows; it holds {5}, {6} and {7}), not like an interaction: delete the line, "
                  "or say with --header no (header in code) that it is an interaction",
                  format.file, format.lines_before + 1, users, items, declared, users_after,
                  items_after, rows - 1));
}

}  // namespace likewise
