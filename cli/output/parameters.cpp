// SPDX-License-Identifier: Apache-2.0
#include "output/parameters.h"

#include <algorithm>

namespace likewise::cli {

std::string effective_text(const TrainingParams& params) {
  const std::vector<ParameterInfo> all = parameters_of(algorithm_name(params));
  std::string text;
  for (const auto& [name, value] : effective_parameters(params)) {
    const std::string word = std::ranges::find(all, name, &ParameterInfo::name)->word();
    text += (text.empty() ? "" : ", ") + word + " " + value;
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

nlohmann::ordered_json origins_json(const std::vector<ParameterOrigin>& origins) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const ParameterOrigin& one : origins) {
    out[one.name] = kOriginNames[static_cast<std::size_t>(one.origin)];
  }
  return out;
}

nlohmann::ordered_json plan_json(const TrainingPlan& plan) {
  nlohmann::ordered_json out;
  out["algorithm"] = algorithm_name(plan.params);
  if (!plan.algorithm_reason.empty()) out["choice"] = plan.algorithm_reason;
  out["device"] = device_text(plan.device.device);
  if (!plan.device.reason.empty()) out["device_reason"] = plan.device.reason;
  out["parameters"] = effective_json(plan.params);
  out["origins"] = origins_json(plan.origins);
  if (plan.validation) out["validation_metric"] = plan.validation->metric;
  if (!plan.tuning.empty()) out["tuning"] = plan.tuning;
  if (plan.memory.parts.empty()) return out;
  out["memory"] = {{"placement", plan.memory.placement},
                   {"total", plan.memory.total},
                   {"available", plan.memory.available},
                   {"machine", plan.memory.machine}};
  for (const MemoryPlan::Part& part : plan.memory.parts) {
    out["memory"]["parts"][part.name] = part.bytes;
  }
  return out;
}

}  // namespace likewise::cli
