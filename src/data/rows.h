// SPDX-License-Identifier: Apache-2.0
/// Rows between the text and the matrix: 12 bytes each, 20 with a time.
#pragma once

#include <cstdint>
#include <vector>

#include "data/id_table.h"
#include "data/page_buffer.h"
#include "likewise/types.h"

namespace likewise {

/// `user` and `item` are codes of a thread's table first, and indices after the ids are merged.
struct PlainRow {
  static constexpr bool kTimed = false;
  Index user;
  Index item;
  float value;

  void set_time(std::int64_t) {}
  [[nodiscard]] std::int64_t time() const { return 0; }
};

struct TimedRow {
  static constexpr bool kTimed = true;
  Index user;
  Index item;
  float value;
  std::uint32_t time_low;  // two halves, so that a row takes 20 bytes and not 24
  std::int32_t time_high;

  void set_time(std::int64_t time) {
    time_low = static_cast<std::uint32_t>(time);
    time_high = static_cast<std::int32_t>(time >> 32);
  }
  [[nodiscard]] std::int64_t time() const { return (std::int64_t{time_high} << 32) | time_low; }
};

/// The rows of one block of text.
template <class Row>
struct StagedBlock {
  Offset number = 0;  ///< of the block in the file
  int table = 0;      ///< whose codes the rows hold
  PageBuffer<Row> rows;
};

/// All rows of a file, by blocks in the file's order, and the threads' tables.
template <class Row>
struct Staged {
  std::vector<IdTable> users;
  std::vector<IdTable> items;
  std::vector<StagedBlock<Row>> blocks;
  Offset rows = 0;
};

}  // namespace likewise
