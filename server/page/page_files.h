// SPDX-License-Identifier: Apache-2.0
/// The page at `/`: the files of server/page/files, inside the program.
#pragma once

#include <string_view>

namespace likewise::server {

struct PageFile {
  std::string_view path;  ///< "/", "/main.js"
  std::string_view type;  ///< "text/html; charset=utf-8"
  std::string_view content;
};

/// Null where the page has no such file.
[[nodiscard]] const PageFile* page_file(std::string_view path);

/// What a browser may do with them: only what comes from here.
inline constexpr std::string_view kPageHeaders =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "Cache-Control: no-cache\r\n";

}  // namespace likewise::server
