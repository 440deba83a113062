// SPDX-License-Identifier: Apache-2.0
#include "output/parameters.h"

#include <algorithm>

namespace likewise::cli {

std::vector<std::pair<std::string, std::string>> effective_parameters(
    const TrainingParams& params) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const ParameterInfo& parameter : parameters_of(algorithm_name(params))) {
    std::string value = parameter_text(params, parameter.name);
    if (value == "none" || !parameter_needs(params, parameter.name).empty()) continue;
    result.emplace_back(parameter.name, std::move(value));
  }
  return result;
}

std::string effective_text(const TrainingParams& params) {
  std::string text;
  for (const auto& [name, value] : effective_parameters(params)) {
    text += (text.empty() ? "" : ", ") + name + " " + value;
  }
  return text;
}

nlohmann::ordered_json effective_json(const TrainingParams& params) {
  const std::vector<ParameterInfo> all = parameters_of(algorithm_name(params));
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [name, value] : effective_parameters(params)) {
    const bool is_number = std::ranges::find(all, name, &ParameterInfo::name)->choices.empty();
    out[name] = is_number ? nlohmann::ordered_json::parse(value) : nlohmann::ordered_json(value);
  }
  return out;
}

}  // namespace likewise::cli
