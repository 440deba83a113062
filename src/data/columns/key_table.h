// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "data/text/id_table.h"
#include "likewise/make_interactions.h"

namespace likewise {

/// The keys of an EncodedColumn that has been checked, and which of them rows have. Borrows the
/// column's memory.
class KeyTable {
 public:
  explicit KeyTable(const EncodedColumn& column);

  [[nodiscard]] Index size() const { return static_cast<Index>(used_.size()); }
  [[nodiscard]] bool is_empty(Index code) const {
    return !empty_.empty() && empty_[static_cast<std::size_t>(code)] != 0;
  }
  /// A row has this key. From any thread.
  void use(Index code) const {
    const std::atomic_ref<std::uint8_t> used(used_[static_cast<std::size_t>(code)]);
    if (used.load(std::memory_order_relaxed) == 0) used.store(1, std::memory_order_relaxed);
  }
  /// The ids of the keys that were used; index_of[0] holds the index of each such code.
  [[nodiscard]] MergedIds merge() const;

 private:
  const EncodedColumn& column_;
  mutable std::vector<std::uint8_t> used_;
  std::vector<std::uint8_t> empty_;  ///< no entries where no key is
};

/// How many keys a column has.
[[nodiscard]] Offset count_keys(const EncodedColumn& column);

/// Text i of a column whose offsets have been checked.
[[nodiscard]] std::string_view text_of(const TextColumn& column, Offset i);

}  // namespace likewise
