// SPDX-License-Identifier: Apache-2.0
#include "report/svg.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "output/text.h"

namespace likewise::cli {
namespace {

// The drawing is narrow, so that a phone shows its letters almost at their own size.
constexpr double kWidth = 360;
constexpr double kHeight = 220;
constexpr double kLeft = 54;
constexpr double kRight = 14;
constexpr double kTop = 30;
constexpr double kBottom = 42;
constexpr double kHalfLetter = 3.5;  ///< half of the width of a digit, rounded up

constexpr double kLargest = 1e300;  ///< beyond it a range, or its step, may be no number

/// One axis: values to drawing positions, and where the ticks are.
struct Axis {
  double low = 0;
  double high = 1;
  bool log = false;
  double from = 0;
  double to = 1;
  std::vector<double> ticks;

  [[nodiscard]] double place(double value) const { return log ? std::log10(value) : value; }
  [[nodiscard]] bool holds(double value) const {
    return std::abs(value) <= kLargest && (!log || value > 0);
  }
  [[nodiscard]] double at(double value) const {
    const double share = (place(value) - place(low)) / (place(high) - place(low));
    return from + share * (to - from);
  }
};

/// 1, 2 or 5 times a power of ten, so that about `count` steps cover the range.
double round_step(double range, int count) {
  const double raw = range / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

void add_linear_ticks(Axis& axis, int count) {
  if (axis.high - axis.low < 1 / kLargest) {
    const double margin = axis.low == 0 ? 1 : std::abs(axis.low) * 0.1;
    axis.low -= margin;
    axis.high += margin;
  }
  const double step = round_step(axis.high - axis.low, count);
  axis.low = std::floor(axis.low / step + 1e-9) * step;
  axis.high = std::ceil(axis.high / step - 1e-9) * step;
  const auto steps = static_cast<int>(std::lround((axis.high - axis.low) / step));
  for (int i = 0; i <= steps; ++i) axis.ticks.push_back(axis.low + i * step);
}

void add_log_ticks(Axis& axis) {
  const double first = std::floor(std::log10(axis.low) + 1e-9);
  const double last = std::max(first + 1, std::ceil(std::log10(axis.high) - 1e-9));
  axis.low = std::pow(10.0, first);
  axis.high = std::pow(10.0, last);
  const double step = std::max(1.0, std::ceil((last - first) / 6));
  const auto steps = static_cast<int>((last - first) / step);  // whole numbers
  for (int i = 0; i <= steps; ++i) axis.ticks.push_back(std::pow(10.0, first + i * step));
}

template <class Get>
Axis make_axis(const LineChart& chart, bool log, double from, double to, int ticks, const Get& get,
               double lowest = std::numeric_limits<double>::infinity()) {
  Axis axis;
  axis.log = log;
  axis.from = from;
  axis.to = to;
  double low = lowest;
  double high = -std::numeric_limits<double>::infinity();
  for (const Series& series : chart.series) {
    for (const auto& point : series.points) {
      const double value = get(point);
      if (!axis.holds(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low <= high) {
    axis.low = low;
    axis.high = high;
  } else if (log) {
    axis.low = 1;
    axis.high = 10;
  }
  log ? add_log_ticks(axis) : add_linear_ticks(axis, ticks);
  return axis;
}

std::string tick_text(double value) {
  return value == 0 || (std::abs(value) >= 1e-3 && std::abs(value) < 1e10)
             ? short_number(std::abs(value) < 1e-12 ? 0 : value)
             : fmt::format("{:.0e}", value);
}

std::string svg_text(double x, double y, const char* anchor, std::string_view text,
                     const char* css = "t") {
  return fmt::format("<text class='{}' x='{:.1f}' y='{:.1f}' text-anchor='{}'>{}</text>\n", css, x,
                     y, anchor, escape_html(text));
}

std::string grid(const Axis& x, const Axis& y) {
  std::string out;
  for (const double tick : y.ticks) {
    out += fmt::format("<line class='g' x1='{:.1f}' x2='{:.1f}' y1='{:.1f}' y2='{:.1f}'/>\n",
                       x.from, x.to, y.at(tick), y.at(tick));
    out += svg_text(x.from - 6, y.at(tick) + 4, "end", tick_text(tick));
  }
  for (const double tick : x.ticks) {
    const std::string text = tick_text(tick);
    const double widest = kWidth - kHalfLetter * static_cast<double>(text.size());
    out += svg_text(std::min(x.at(tick), widest), y.from + 16, "middle", text);
  }
  return out;
}

/// The class of a series' line: "s3".
std::string colour_of(const LineChart& chart, std::size_t place) {
  constexpr std::size_t kColours = 8;
  const std::size_t given = chart.series[place].colour;
  const std::size_t number = given > 0 ? given - 1 : place;
  return fmt::format("s{}{}", number % kColours + 1, number < kColours ? "" : " dashed");
}

std::string line_of(const Series& series, const std::string& colour, const Axis& x, const Axis& y) {
  std::string points;
  std::string dots;
  for (const auto& [px, py] : series.points) {
    if (!x.holds(px) || !y.holds(py)) continue;
    points += fmt::format("{:.1f},{:.1f} ", x.at(px), y.at(py));
    dots += fmt::format(
        "<circle cx='{:.1f}' cy='{:.1f}' r='2.5'><title>{:.6g}: {:.6g}</title></circle>", x.at(px),
        y.at(py), px, py);
  }
  std::string out;
  if (!series.dots_only)
    out = fmt::format("<polyline class='l {}' points='{}'/>\n", colour, points);
  if (series.dots_only || series.points.size() <= 40)
    out += fmt::format("<g class='d {}'>{}</g>\n", colour, dots);
  return out;
}

constexpr int kLongestName = 38;
constexpr double kLegendRow = 16;

/// Where the name of each series stands: in as many rows as they need.
struct Legend {
  std::vector<std::pair<double, double>> places;
  double more = 0;  ///< height of the rows after the first
};
Legend legend_of(const std::vector<Series>& series) {
  Legend legend;
  if (series.size() < 2) return legend;
  double x = kLeft;
  for (const Series& one : series) {
    const double width = 40 + 7.0 * std::min(display_width(one.name), kLongestName);
    if (x > kLeft && x + width - 19 > kWidth) {
      x = kLeft;
      legend.more += kLegendRow;
    }
    legend.places.emplace_back(x, 12 + legend.more);
    x += width;
  }
  return legend;
}

std::string draw(const Legend& legend, const LineChart& chart) {
  std::string out;
  for (std::size_t s = 0; s < legend.places.size(); ++s) {
    const auto [x, y] = legend.places[s];
    out += fmt::format("<line class='l {0}' x1='{1:.0f}' x2='{2:.0f}' y1='{3}' y2='{3}'/>\n",
                       colour_of(chart, s), x, x + 16, y);
    out += fmt::format(
        "<g><title>{}</title>{}</g>\n", escape_html(chart.series[s].name),
        svg_text(x + 21, y + 4, "start", shortened(chart.series[s].name, kLongestName)));
  }
  return out;
}

std::string mark(const LineChart& chart, const Axis& x, const Axis& y) {
  if (chart.marked_x <= 0) return "";
  const double at = x.at(chart.marked_x);
  const bool left = at > (x.from + x.to) / 2;
  return fmt::format("<line class='m' x1='{0:.1f}' x2='{0:.1f}' y1='{1:.1f}' y2='{2:.1f}'/>\n", at,
                     y.from, y.to) +
         svg_text(at + (left ? -5 : 5), y.to + 10, left ? "end" : "start", chart.mark_label);
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : printable_message(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string draw(const LineChart& chart) {
  const auto get_x = [](const auto& point) { return point.first; };
  const auto get_y = [](const auto& point) { return point.second; };
  const Legend legend = legend_of(chart.series);
  const double height = kHeight + legend.more;
  const double lowest = chart.x_from_zero ? 0.0 : std::numeric_limits<double>::infinity();
  const Axis x = make_axis(chart, chart.log_x, kLeft, kWidth - kRight, 6, get_x, lowest);
  const Axis y = make_axis(chart, chart.log_y, height - kBottom, kTop + legend.more, 5, get_y);
  std::string out = fmt::format(
      "<svg viewBox='0 0 {0} {1}' width='{0}' height='{1}' role='img' aria-label='{2}'>\n", kWidth,
      height, escape_html(chart.y_label + " by " + chart.x_label));
  out += grid(x, y) + mark(chart, x, y);
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    out += line_of(chart.series[s], colour_of(chart, s), x, y);
  }
  out += draw(legend, chart);
  out += svg_text((x.from + x.to) / 2, height - 6, "middle", chart.x_label, "t label");
  if (chart.series.size() < 2) out += svg_text(4, 16, "start", chart.y_label, "t label");
  return out + "</svg>\n";
}

}  // namespace likewise::cli
