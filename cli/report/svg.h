// SPDX-License-Identifier: Apache-2.0
/// Small charts as inline SVG. Colours are CSS variables of the page (--ink, --soft, --grid,
/// --series-1 to --series-8), so one drawing serves light and dark.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace likewise::cli {

/// Text as HTML or SVG content or attribute value: & < > " ' are escaped, control characters go.
[[nodiscard]] std::string escape_html(std::string_view text);

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool dots_only = false;  ///< no line joins them
  /// From 1 to 16, where those from 9 on are dashed lines; 0: the place among the chart's series.
  std::size_t colour = 0;
};

struct LineChart {
  std::string x_label;
  std::string y_label;
  std::vector<Series> series;
  bool log_x = false;  ///< log axes leave out points that are not positive
  bool log_y = false;
  double marked_x = 0;  ///< a vertical line here; 0: none
  std::string mark_label = {};
  bool x_from_zero = false;  ///< the axis begins at 0, wherever the points do
};
[[nodiscard]] std::string draw(const LineChart& chart);

}  // namespace likewise::cli
