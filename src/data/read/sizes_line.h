// SPDX-License-Identifier: Apache-2.0
/// A first line that holds the sizes of the data ("943 1682 80000": users, items, rows) and would
/// otherwise be taken for an interaction of 80000.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/read/format.h"
#include "likewise/interactions.h"

namespace likewise {

/// The sizes that the first line may hold: three whole numbers, possible as such.
[[nodiscard]] std::optional<SizesLine> possible_sizes(const std::vector<std::string>& first_line);

/// Throws kBadData where the first of `rows` rows fits the rest better as its sizes: no more users
/// and items follow than it says, and its value is the number of rows that follow, above all other
/// values, or more than ten times any of them.
void refuse_sizes_line(const FileFormat& format, const Interactions& data, Offset rows);

}  // namespace likewise
