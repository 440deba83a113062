// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise {

std::string with_commas(Offset number) {
  std::string digits = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string counted(Offset count, std::string_view one) {
  return fmt::format("{} {}{}", with_commas(count), one, count == 1 ? "" : "s");
}

}  // namespace likewise
