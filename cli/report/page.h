// SPDX-License-Identifier: Apache-2.0
/// What our pages share: one self-contained HTML file each (inline styles and SVG, no scripts, no
/// network) for light and dark screens of any width.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace likewise::cli {

/// A card. `body` is HTML, title and note are text; "wide" as `css` takes the whole width.
[[nodiscard]] std::string section(std::string_view title, std::string_view note,
                                  std::string_view body, const char* css = "");

/// A row of texts, in cells "td" or "th".
[[nodiscard]] std::string table_row(const std::vector<std::string>& cells, const char* tag);

/// The whole page around `content`, which is HTML.
[[nodiscard]] std::string page(std::string_view title, std::string_view subtitle,
                               std::string_view content);

/// Whole or not there, like every output file.
void write_page(const std::string& html, const std::string& path);

}  // namespace likewise::cli
