// SPDX-License-Identifier: Apache-2.0
/// Numbers in sentences for people.
#pragma once

#include <string>
#include <string_view>

#include "likewise/types.h"

namespace likewise {

/// 1234567 -> "1,234,567".
[[nodiscard]] std::string with_commas(Offset number);
/// "1 user", "2 users".
[[nodiscard]] std::string counted(Offset count, std::string_view one);

}  // namespace likewise
