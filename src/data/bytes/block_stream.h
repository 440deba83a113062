// SPDX-License-Identifier: Apache-2.0
/// Cuts a source into blocks that end where rows do, so that threads can parse them on their own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/system/memory.h"
#include "data/bytes/byte_source.h"

namespace likewise {

/// Sizes that tests make tiny.
struct ReadTuning {
  std::size_t block_bytes = std::size_t{1} << 20;
  std::size_t max_line_bytes = std::size_t{1} << 20;
  std::size_t head_bytes = std::size_t{1} << 16;  ///< looked at to find out the format
  Offset plan_bytes = Offset{1} << 24;  ///< of rows, from one look at the memory to the next
  std::uint64_t (*pages)() = available_pages;
  std::uint64_t (*addresses)() = available_addresses;
};

struct TextBlock {
  Offset number = 0;
  std::string buffer;  ///< allocated once and used again

  /// The text: whole lines (the file's last one may lack its line end).
  [[nodiscard]] std::string_view text() const { return {buffer.data(), size}; }
  std::size_t size = 0;
};

/// The bytes of the whole rows that begin a text, to which more may come: up to its last line end.
[[nodiscard]] std::size_t whole_lines(std::string_view text);

class BlockStream {
 public:
  using WholeRows = std::function<std::size_t(std::string_view)>;

  BlockStream(ByteSource& source, const ReadTuning& tuning, WholeRows whole_rows = whole_lines)
      : source_(source), tuning_(tuning), whole_rows_(std::move(whole_rows)) {}

  /// Fills `block` with the next rows. False at the end, or when a line is too long: then
  /// `too_long()` holds and the blocks so far end right before that line.
  bool next(TextBlock& block);
  [[nodiscard]] bool too_long() const { return too_long_; }
  [[nodiscard]] Offset blocks() const { return blocks_; }

 private:
  ByteSource& source_;
  ReadTuning tuning_;
  WholeRows whole_rows_;
  std::string carry_;  ///< the start of a line whose end lies in the next block
  Offset blocks_ = 0;
  bool ended_ = false;
  bool too_long_ = false;
};

}  // namespace likewise
