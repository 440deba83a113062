// SPDX-License-Identifier: Apache-2.0
/// A whole file in memory without reading it: pages come when they are touched, and processes that
/// serve the same model share them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace likewise {

/// Writable, but what is written stays in this process (copy on write) and never reaches the file.
struct MappedFile {
  std::shared_ptr<void> owner;  ///< keeps the mapping alive
  std::span<std::byte> bytes;   ///< page-aligned
};

/// Throws Error(kNotFound) or Error(kIo) with the system's reason. Only regular files can be
/// mapped.
[[nodiscard]] MappedFile map_file(const std::string& path);

}  // namespace likewise
