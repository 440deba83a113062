// SPDX-License-Identifier: Apache-2.0
/// Streams of gzip and zstd, read in pieces of several sizes: the bytes must not depend on them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "data/bytes/decompress.h"
#include "likewise/error.h"

namespace {

constexpr std::size_t kMost = std::size_t{1} << 22;

/// All bytes, or those before the fault (`good` is then false).
std::string unpack(std::string_view packed, std::size_t piece, bool& good) {
  std::string out;
  try {
    auto stream = likewise::decompress(likewise::memory_source(packed), "input");
    std::string buffer(piece, '\0');
    while (out.size() < kMost) {
      const std::size_t got = stream.source->read(buffer.data(), buffer.size());
      if (got > buffer.size()) std::abort();
      if (got == 0) break;
      out.append(buffer, 0, got);
    }
    good = true;
  } catch (const likewise::Error&) {
    good = false;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view packed(reinterpret_cast<const char*>(data), size);
  bool good_small = false;
  bool good_large = false;
  const std::string small = unpack(packed, 1 + size % 61, good_small);
  const std::string large = unpack(packed, std::size_t{1} << 16, good_large);
  if (small.size() >= kMost || large.size() >= kMost) return 0;
  if (good_small != good_large) std::abort();
  if (good_small && small != large) std::abort();
  return 0;
}
