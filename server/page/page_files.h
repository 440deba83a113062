// SPDX-License-Identifier: Apache-2.0
/// The page at `/`: its files, which are part of the program. The build makes them from the folder
/// `files`; there is nothing else to install.
#pragma once

#include <span>
#include <string_view>

namespace likewise::server {

struct PageFile {
  std::string_view path;  ///< of the request: "/" is index.html, "/page.css" the rest by name
  std::string_view content_type;
  std::string_view etag;  ///< in quotes, by the hash of the bytes
  std::string_view bytes;
};

/// All of them.
[[nodiscard]] std::span<const PageFile> page_files();

}  // namespace likewise::server
