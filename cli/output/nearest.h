// SPDX-License-Identifier: Apache-2.0
/// "Did you mean ...?" for mistyped verbs, options and choices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace likewise::cli {

/// The candidate with the fewest edits from `word`, or "" when none is near enough to be a slip of
/// the keys.
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string>& candidates);

/// " (did you mean X?)" or "".
[[nodiscard]] std::string suggestion(std::string_view word,
                                     const std::vector<std::string>& candidates);

}  // namespace likewise::cli
