// SPDX-License-Identifier: Apache-2.0
/// `FileStamp`: what tells a file from another one in its place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace likewise::server {

struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t changed = 0;  ///< ns

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// Whether it is one file, whatever was written into it meanwhile.
[[nodiscard]] bool is_same_file(const FileStamp& a, const FileStamp& b);

/// Nothing where there is no such file.
[[nodiscard]] std::optional<FileStamp> stamp_of(const std::string& path);

}  // namespace likewise::server
