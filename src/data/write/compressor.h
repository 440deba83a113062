// SPDX-License-Identifier: Apache-2.0
/// Streams of bytes into compressed streams, a piece at a time.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace likewise {

class Compressor {
 public:
  /// Takes the compressed bytes as they come; may throw.
  using Sink = std::function<void(std::string_view)>;

  virtual ~Compressor() = default;
  virtual void write(std::string_view bytes, const Sink& sink) = 0;
  /// Ends the stream: call it once, after the last write.
  virtual void finish(const Sink& sink) = 0;
};

/// By the name's ending: gzip for .gz, zstd for .zst, else none (null). The same input always gives
/// the same bytes: no time stamp or name goes into the stream.
[[nodiscard]] std::unique_ptr<Compressor> make_compressor(std::string_view path);

}  // namespace likewise
