// SPDX-License-Identifier: Apache-2.0
#include "options/targets.h"

#include <functional>

#include <fmt/format.h>

#include "output/text.h"

namespace likewise::cli {

CLI::Option* add_target_option(CLI::App& app, std::optional<MetricTarget>& target,
                               const std::string& description) {
  const std::function<void(const std::string&)> take = [&target](const std::string& text) {
    target = parse_target(text);
  };
  return app.add_option_function<std::string>("--target", take, description)
      ->type_name("METRIC=VALUE");
}

Reached reached_by(const MetricTarget& target, std::span<const Iteration> iterations) {
  const Iteration* first =
      first_to_reach(iterations, target.value, higher_is_better(target.metric.name));
  if (first == nullptr) return {};
  const auto count = static_cast<std::size_t>(first - iterations.data()) + 1;
  return {first->iteration, elapsed_seconds(iterations.first(count)).back()};
}

std::string target_text(const MetricTarget& target, std::span<const Iteration> iterations) {
  const std::string what = fmt::format("target {} {}", target.metric.key, target.value);
  const Reached reached = reached_by(target, iterations);
  if (reached.iteration > 0) {
    return fmt::format("{} reached after {} and {} of training", what,
                       counted(reached.iteration, "iteration"), duration(reached.elapsed));
  }
  const Iteration* best = best_by_validation(iterations, higher_is_better(target.metric.name));
  if (best == nullptr) {
    return fmt::format("{} not reached: training was over before anything was measured", what);
  }
  return fmt::format("{} not reached in {}: the best is {:.6g}, after iteration {}", what,
                     counted(std::ssize(iterations), "iteration"), *best->validation,
                     best->iteration);
}

}  // namespace likewise::cli
