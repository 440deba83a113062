// SPDX-License-Identifier: Apache-2.0
/// "Did you mean ...?" for mistyped verbs, options, choices and parameters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace likewise {

/// " (did you mean X?)", of the candidate that `word` may be with a slip of the keys; else "".
[[nodiscard]] std::string suggestion(std::string_view word,
                                     const std::vector<std::string>& candidates);

}  // namespace likewise
