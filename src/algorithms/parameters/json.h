// SPDX-License-Identifier: Apache-2.0
/// Training parameters <-> JSON, as model files have them.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "likewise/parameters.h"

namespace likewise {

[[nodiscard]] nlohmann::json encode_params(const TrainingParams& params);

/// What `algorithm` was trained with. A parameter that the object lacks takes its default: files of
/// versions without it still load. Throws Error(kBadData) for an algorithm that is not known, and
/// naming the parameter that is of the wrong type or outside its range.
[[nodiscard]] TrainingParams decode_params(std::string_view algorithm,
                                           const nlohmann::json& object);

}  // namespace likewise
