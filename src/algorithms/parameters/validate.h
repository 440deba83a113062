// SPDX-License-Identifier: Apache-2.0
/// Ranges of described parameters.
#pragma once

#include <fmt/format.h>

#include "algorithms/parameters/parameter.h"
#include "likewise/error.h"

namespace likewise {

/// Throws Error(kInvalidArgument) naming the first parameter outside its range, its value and the
/// range. NaN is outside every range.
template <class Params>
void check_ranges(const Params& params) {
  for_each_parameter<Params>([&](const auto& parameter) {
    using Described = std::remove_cvref_t<decltype(parameter)>;
    if constexpr (std::is_arithmetic_v<typename Described::Value>) {
      if (parameter.range.empty()) return;  // a switch
      const typename Described::Field& field = params.*parameter.member;
      typename Described::Value value{};
      if constexpr (std::is_arithmetic_v<typename Described::Field>) {
        value = field;
      } else {
        if (!field) return;
        value = *field;
      }
      if (value >= parameter.lowest && value <= parameter.highest) return;
      throw Error(
          ErrorKind::kInvalidArgument,
          fmt::format("{} must be {}, not {}", mention(parameter.name), parameter.range, value));
    }
  });
}

}  // namespace likewise
