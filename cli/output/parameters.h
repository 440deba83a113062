// SPDX-License-Identifier: Apache-2.0
/// The parameters of a training, for people and for JSON.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "likewise/training.h"

namespace likewise::cli {

/// As one line: "factors 64, iterations 15".
[[nodiscard]] std::string effective_text(const TrainingParams& params);
/// As members, numbers as numbers.
[[nodiscard]] nlohmann::ordered_json effective_json(const TrainingParams& params);

/// Where parameters are from that are not defaults: {"factors": "chosen"}.
[[nodiscard]] nlohmann::ordered_json origins_json(const std::vector<ParameterOrigin>& origins);
/// A plan as one object: parameters, where those are from that are not defaults, and the reasons.
[[nodiscard]] nlohmann::ordered_json plan_json(const TrainingPlan& plan);

}  // namespace likewise::cli
