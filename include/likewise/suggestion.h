// SPDX-License-Identifier: Apache-2.0
/// "Did you mean ...?" for mistyped verbs, options, choices and parameters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace likewise {

/// " (did you mean X?)", of the candidate that `word` may be with a slip of the keys, or by the
/// name that it has in other programs, as "--rank" for "--factors"; else "".
[[nodiscard]] std::string suggestion(std::string_view word,
                                     const std::vector<std::string>& candidates);

}  // namespace likewise
