// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "server/split.h"

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
/// A number of each model: by its name where there are several.
template <class Value>
void metric_of_models(std::string& text, std::string_view name, std::string_view type,
                      std::string_view help, const Split& split, const Value& value) {
  describe_metric(text, name, type, help);
  for (std::size_t m = 0; m < split.size(); ++m) {
    text += name;
    if (!split.is_of_one()) text += fmt::format("{{model=\"{}\"}}", split.names()[m]);
    text += fmt::format(" {}\n", value(m));
  }
}

}  // namespace likewise::server
