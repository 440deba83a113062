// SPDX-License-Identifier: Apache-2.0
/// `AlsParams` <-> JSON, under the names that options have everywhere (snake_case).
#pragma once

#include <nlohmann/json.hpp>

#include "likewise/als.h"

namespace likewise {

[[nodiscard]] nlohmann::json encode_als_params(const AlsParams& params);

/// Every parameter must be there; names that this version does not know are ignored. Throws
/// Error(kBadData) naming the parameter.
[[nodiscard]] AlsParams decode_als_params(const nlohmann::json& object);

}  // namespace likewise
