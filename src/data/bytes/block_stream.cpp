// SPDX-License-Identifier: Apache-2.0
#include "data/bytes/block_stream.h"

#include <algorithm>
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

std::size_t whole_lines(std::string_view text) {
  return text.rfind('\n') + 1;  // npos + 1 is 0
}

bool BlockStream::next(TextBlock& block) {
  if (ended_) return false;
  if (block.buffer.size() < carry_.size()) block.buffer.resize(carry_.size());
  std::memcpy(block.buffer.data(), carry_.data(), carry_.size());
  block.size = carry_.size();
  carry_.clear();
  while (true) {
    // Twice as much each time, so that looking through a long row again costs little.
    ended_ = !fill(source_, block.buffer, block.size,
                   block.size + std::max(tuning_.block_bytes, block.size));
    if (ended_) break;
    if (const std::size_t end = whole_rows_(block.text()); end > 0) {
      carry_.assign(block.buffer, end, block.size - end);
      block.size = end;
      break;
    }
    if (block.size > tuning_.max_line_bytes) {
      ended_ = too_long_ = true;
      return false;
    }
  }
  if (block.size == 0) return false;
  block.number = blocks_++;
  return true;
}

}  // namespace likewise
