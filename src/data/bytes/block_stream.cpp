// SPDX-License-Identifier: Apache-2.0
#include "data/bytes/block_stream.h"

#include <cstring>

namespace likewise {
namespace {

/// Reads until `buffer` holds `want` bytes. False when the source ended before.
bool fill(ByteSource& source, std::string& buffer, std::size_t& size, std::size_t want) {
  if (buffer.size() < want) buffer.resize(want);
  while (size < want) {
    const std::size_t got = source.read(buffer.data() + size, want - size);
    if (got == 0) return false;
    size += got;
  }
  return true;
}

}  // namespace

bool BlockStream::next(TextBlock& block) {
  if (ended_) return false;
  if (block.buffer.size() < carry_.size()) block.buffer.resize(carry_.size());
  std::memcpy(block.buffer.data(), carry_.data(), carry_.size());
  std::size_t searched = carry_.size();  // no line end in here
  block.size = carry_.size();
  carry_.clear();
  while (true) {
    ended_ = !fill(source_, block.buffer, block.size, block.size + tuning_.block_bytes);
    const void* last = block.size == searched
                           ? nullptr
                           : memrchr(block.buffer.data() + searched, '\n', block.size - searched);
    if (ended_) break;
    if (last != nullptr) {
      const auto end =
          static_cast<std::size_t>(static_cast<const char*>(last) - block.buffer.data()) + 1;
      carry_.assign(block.buffer, end, block.size - end);
      block.size = end;
      break;
    }
    searched = block.size;
    if (searched > tuning_.max_line_bytes) {
      ended_ = too_long_ = true;
      return false;
    }
  }
  if (block.size == 0) return false;
  block.number = blocks_++;
  return true;
}

}  // namespace likewise
