// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "likewise/error.h"

namespace likewise::python {

/// One of an enum by its name. The names are in the enum's order.
template <class Enum, std::size_t N>
[[nodiscard]] Enum named(const std::string& name, const std::string_view (&names)[N],
                         const char* what) {
  const auto* found = std::ranges::find(names, name);
  if (found != std::end(names)) return static_cast<Enum>(found - std::begin(names));
  std::string message = std::string(what) + ": \"" + printable(name) + "\" is none of";
  for (const std::string_view known : names) message += " " + std::string(known);
  throw Error(ErrorKind::kInvalidArgument, message);
}

}  // namespace likewise::python
