// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/ranges.h>

#include "likewise/error.h"
#include "likewise/suggestion.h"

namespace likewise::python {

/// One of an enum by its name. The names are in the enum's order.
template <class Enum, std::size_t N>
[[nodiscard]] Enum named(const std::string& name, const std::string_view (&names)[N],
                         const char* what) {
  const auto* found = std::ranges::find(names, name);
  if (found != std::end(names)) return static_cast<Enum>(found - std::begin(names));
  const std::vector<std::string> known(std::begin(names), std::end(names));
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{} must be one of {}, not '{}'{}", what, fmt::join(known, "|"),
                          printable(name), suggestion(name, known)));
}

}  // namespace likewise::python
