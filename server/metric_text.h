// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace likewise::server {

/// The lines that stand over a metric in the text format of Prometheus.
inline void describe_metric(std::string& text, std::string_view name, std::string_view type,
                            std::string_view help) {
  text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

/// A metric of one number.
inline void single_metric(std::string& text, std::string_view name, std::string_view type,
                          std::string_view help, std::int64_t value) {
  describe_metric(text, name, type, help);
  text += fmt::format("{} {}\n", name, value);
}
inline void seconds_metric(std::string& text, std::string_view name, std::string_view help,
                           double seconds) {
  describe_metric(text, name, "gauge", help);
  text += fmt::format("{} {}\n", name, seconds);
}

}  // namespace likewise::server
