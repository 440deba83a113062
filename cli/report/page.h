// SPDX-License-Identifier: Apache-2.0
/// What our pages share: one self-contained HTML file each (inline styles, SVG and a small script
/// that sorts tables; no network) for light and dark screens of any width, and for paper.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace likewise::cli {

/// Names and values.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// A card. `body` is HTML, title and note are text; "wide" as `css` takes the whole width.
[[nodiscard]] std::string section(std::string_view title, std::string_view note,
                                  std::string_view body, const char* css = "");

/// A card of the whole width that a click on its title opens and closes.
[[nodiscard]] std::string folded_section(std::string_view title, std::string_view note,
                                         std::string_view body, bool open);

/// A line that ends with an ellipsis where there is no room; the whole text is its title.
[[nodiscard]] std::string cut(std::string_view text);

/// Large figures in a row, for the top of a page.
[[nodiscard]] std::string figures(const Facts& facts);

/// Names and values in as many columns as the card has room for.
[[nodiscard]] std::string facts_list(const Facts& facts);

struct Column {
  enum class Kind {
    kText,    ///< cut where it is long; the whole text is its title
    kNumber,  ///< to the right
    kList,    ///< parts between ", ", which stay whole
  };
  std::string name;
  Kind kind = Kind::kNumber;
};

/// Scrolls where it is wider than its card, and sorts by a click on a column's name.
struct PageTable {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  std::optional<std::size_t> marked = {};  ///< a row that stands out
};
[[nodiscard]] std::string draw(const PageTable& table);

struct Bar {
  std::string label;
  double value = 0;
  std::string text;  ///< what stands next to the bar
};
/// Horizontal bars, one below the other.
[[nodiscard]] std::string draw(const std::vector<Bar>& bars);

/// A command line that breaks between its options only.
[[nodiscard]] std::string command_block(std::string_view command);

/// The whole page around `content`, which is HTML.
[[nodiscard]] std::string page(std::string_view title, std::string_view subtitle,
                               std::string_view content);

/// Whole or not there, like every output file.
void write_page(const std::string& html, const std::string& path);

}  // namespace likewise::cli
