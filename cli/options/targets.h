// SPDX-License-Identifier: Apache-2.0
/// --target METRIC=VALUE, and when iterations reached it.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <CLI/CLI.hpp>

#include "likewise/evaluation.h"
#include "likewise/iteration.h"

namespace likewise::cli {

CLI::Option* add_target_option(CLI::App& app, std::optional<MetricTarget>& target,
                               const std::string& description);

/// The first iteration that is as good as the target.
struct Reached {
  int iteration = 0;     ///< 0: none is
  double elapsed = 0.0;  ///< seconds of training up to its end
};
[[nodiscard]] Reached reached_by(const MetricTarget& target, std::span<const Iteration> iterations);

/// For people: after how many iterations and seconds it was reached, or how near they came.
[[nodiscard]] std::string target_text(const MetricTarget& target,
                                      std::span<const Iteration> iterations);

}  // namespace likewise::cli
