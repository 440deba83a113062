// SPDX-License-Identifier: Apache-2.0
/// Rows between a file or columns in memory and the matrix: 12 bytes each, 24 with a time.
#pragma once

#include <optional>
#include <vector>

#include "data/bytes/page_buffer.h"
#include "data/text/id_table.h"
#include "data/text/times.h"
#include "likewise/types.h"

namespace likewise {

/// `user` and `item` are codes of a thread's table first, and indices after the ids are merged.
struct PlainRow {
  static constexpr bool kTimed = false;
  Index user;
  Index item;
  float value;

  void set_time(Time) {}
  [[nodiscard]] Time time() const { return Time(0); }
};

struct TimedRow {
  static constexpr bool kTimed = true;
  Index user;
  Index item;
  float value;
  Time when;

  void set_time(Time time) { when = time; }
  [[nodiscard]] Time time() const { return when; }
};

/// The rows of one block of text or of columns.
template <class Row>
struct StagedBlock {
  Offset number = 0;  ///< of the block in its order
  int table = 0;      ///< whose codes the rows hold
  PageBuffer<Row> rows;
};

/// What the rows' codes of one side mean.
struct StagedIds {
  std::vector<IdTable> tables;      ///< of the threads
  std::optional<Index> range{};     ///< without tables: the codes are indices below this
  std::optional<MergedIds> keys{};  ///< without tables: index_of[0] is of the codes of all threads
};

/// All rows, by blocks in their order, and the threads' tables.
template <class Row>
struct Staged {
  StagedIds users;
  StagedIds items;
  std::vector<StagedBlock<Row>> blocks;
  Offset rows = 0;
  TimeForms time_forms = 0;
  bool faded = false;  ///< values are those of a half-life
};

}  // namespace likewise
