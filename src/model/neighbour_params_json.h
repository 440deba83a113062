// SPDX-License-Identifier: Apache-2.0
/// `NeighbourParams` <-> JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "likewise/neighbourhood.h"

namespace likewise {

[[nodiscard]] nlohmann::json encode_neighbour_params(const NeighbourParams& params);

/// Every parameter must be there; names that this version does not know are ignored. Throws
/// Error(kBadData) naming the parameter.
[[nodiscard]] NeighbourParams decode_neighbour_params(const nlohmann::json& object);

}  // namespace likewise
