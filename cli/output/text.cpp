// SPDX-License-Identifier: Apache-2.0
#include "output/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace likewise::cli {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool starts_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

}  // namespace

Style::Style(std::FILE* stream) {
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  colour_ = is_terminal(stream) && !is_set("NO_COLOR") && !dumb;
}

std::string Style::wrap(const char* code, std::string_view text) const {
  return colour_ ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

int terminal_width() {
  winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20;
  return known ? size.ws_col : 80;
}

std::string short_number(double number) {
  constexpr std::array<std::pair<double, const char*>, 3> kUnits = {
      {{1e9, " G"}, {1e6, " M"}, {1e3, " k"}}};
  for (const auto& [unit, name] : kUnits) {
    if (std::abs(number) >= unit) return fmt::format("{:.3g}{}", number / unit, name);
  }
  return fmt::format("{:.3g}", number);
}

std::optional<Offset> parse_size(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 10> kUnits = {{{"", 1.0},
                                                                           {"b", 1.0},
                                                                           {"kb", 1e3},
                                                                           {"mb", 1e6},
                                                                           {"gb", 1e9},
                                                                           {"tb", 1e12},
                                                                           {"kib", 0x1p10},
                                                                           {"mib", 0x1p20},
                                                                           {"gib", 0x1p30},
                                                                           {"tib", 0x1p40}}};
  double number = 0.0;
  const auto [at, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{}) return std::nullopt;
  std::string unit(at, text.data() + text.size());
  if (!unit.empty() && unit.front() == ' ') unit.erase(0, 1);
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const auto& [name, bytes] : kUnits) {
    if (unit != name) continue;
    const double size = number * bytes;
    // Both ends are false for NaN.
    if (size >= 0.0 && size < 0x1p63) return static_cast<Offset>(size);
  }
  return std::nullopt;
}

std::string duration(double seconds) {
  if (seconds < 0.0995) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 9.95) return fmt::format("{:.2f} s", seconds);
  const auto whole = static_cast<Offset>(std::llround(seconds));
  if (whole < 60) return fmt::format("{:.1f} s", seconds);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

int display_width(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), starts_code_point));
}

std::string fit(std::string_view text, int width) {
  const int missing = std::max(0, width - display_width(text));
  return shortened(text, width) + std::string(static_cast<std::size_t>(missing), ' ');
}

std::string shortened(std::string_view text, int width) {
  if (display_width(text) <= width) return std::string(text);
  std::size_t end = 0;
  for (int kept = 0; end < text.size(); ++end) {
    if (starts_code_point(text[end]) && ++kept == width) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string shell_word(std::string_view text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./,:+=@%").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::ranges::all_of(text, plain) ? std::string(text) : in_quotes(text);
}

std::string file_word(const std::string& path) {
  return path.size() > 1 && path.front() == '-' ? "./" + path : path;
}

std::string TextTable::text(int indent) const {
  std::vector<int> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], display_width(row[c]));
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line(static_cast<std::size_t>(indent), ' ');
    for (std::size_t c = 0; c < row.size(); ++c) {
      const auto fill = static_cast<std::size_t>(widths[c] - display_width(row[c]));
      if (c > 0) line += "  " + std::string(fill, ' ');
      line += row[c];
      if (c == 0) line += std::string(fill, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace likewise::cli
