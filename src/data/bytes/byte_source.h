// SPDX-License-Identifier: Apache-2.0
/// Where bytes come from: a file, memory, or another source decompressed. Read once, front to back.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "likewise/types.h"

namespace likewise {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Up to `size` bytes; 0 only at the end (for size > 0).
  virtual std::size_t read(char* to, std::size_t size) = 0;
  /// Bytes of the underlying file taken so far, and in all (0: not known). For progress.
  [[nodiscard]] virtual Offset consumed() const = 0;
  [[nodiscard]] virtual Offset total() const = 0;
};

using ByteSourcePtr = std::unique_ptr<ByteSource>;

/// Opens a file (or a pipe). Throws kNotFound, or kIo with the system's reason.
[[nodiscard]] ByteSourcePtr open_file(const std::string& path);

/// Reads `bytes`, which must outlive the source.
[[nodiscard]] ByteSourcePtr memory_source(std::string_view bytes);

/// Reads up to `size` bytes, fewer only at the end.
[[nodiscard]] std::string read_up_to(ByteSource& source, std::size_t size);

/// Serves `head`, which was read from `rest` before, and then the rest.
[[nodiscard]] ByteSourcePtr put_back(std::string head, ByteSourcePtr rest);

}  // namespace likewise
