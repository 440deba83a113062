// SPDX-License-Identifier: Apache-2.0
/// Ids met while reading -> codes 0, 1, 2, ... in the order of meeting. Every thread fills its own
/// table; `merge_ids` makes one IdMap of them.
///
/// Integers are kept as integers until an id turns up that is not one as it is canonically written;
/// then the whole table becomes text, and the codes stay.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "likewise/array.h"
#include "likewise/interactions.h"
#include "likewise/types.h"

namespace likewise {

/// Open addressing with linear probing over codes; the keys lie beside, by code.
class IntegerTable {
 public:
  IntegerTable() : slots_(kFirstSlots, 0) {}
  Index code(std::int64_t key);
  [[nodiscard]] std::span<const std::int64_t> keys() const { return keys_; }
  [[nodiscard]] std::size_t bytes() const {
    return keys_.size() * sizeof keys_[0] + slots_.size() * sizeof slots_[0];
  }

 private:
  static constexpr std::size_t kFirstSlots = 1024;
  void grow();

  std::vector<std::uint32_t> slots_;  ///< 0: free, else code + 1
  std::vector<std::int64_t> keys_;
  std::int64_t last_key_ = 0;  ///< files are often sorted by user: the same id comes again at once
  Index last_code_ = -1;
};

class TextTable {
 public:
  TextTable() : slots_(kFirstSlots), offsets_{0} {}
  Index code(std::string_view key);
  [[nodiscard]] Index size() const { return static_cast<Index>(offsets_.size() - 1); }
  [[nodiscard]] std::string_view key(Index code) const {
    const auto at = static_cast<std::size_t>(code);
    return {chars_.data() + offsets_[at],
            static_cast<std::size_t>(offsets_[at + 1] - offsets_[at])};
  }
  /// All keys one after another; key i is chars()[offsets()[i], offsets()[i + 1]).
  [[nodiscard]] std::span<const char> chars() const { return chars_; }
  [[nodiscard]] std::span<const Offset> offsets() const { return offsets_; }
  [[nodiscard]] std::size_t bytes() const {
    return chars_.size() + offsets_.size() * sizeof offsets_[0] + slots_.size() * sizeof slots_[0];
  }

 private:
  static constexpr std::size_t kFirstSlots = 1024;
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t code_plus_one = 0;
  };
  void grow();

  std::vector<Slot> slots_;
  std::vector<char> chars_;
  std::vector<Offset> offsets_;
};

class IdTable {
 public:
  /// The code of an id, new or known. Throws Error(kBadData) beyond 2^31 - 1 ids.
  Index code(std::string_view id);
  /// The same for a table that gets nothing but integers.
  Index code(std::int64_t id) { return integers_.code(id); }
  [[nodiscard]] bool is_text() const { return is_text_; }
  void make_text();
  [[nodiscard]] Index size() const {
    return is_text_ ? texts_.size() : static_cast<Index>(integers_.keys().size());
  }
  [[nodiscard]] std::size_t bytes() const { return integers_.bytes() + texts_.bytes(); }
  [[nodiscard]] std::span<const std::int64_t> integers() const { return integers_.keys(); }
  [[nodiscard]] std::string_view text(Index code) const { return texts_.key(code); }

 private:
  bool is_text_ = false;
  IntegerTable integers_;
  TextTable texts_;
};

struct MergedIds {
  IdMap map;
  std::vector<Array<Index>> index_of;  ///< [table][code] -> index in map; one may serve all tables
};

/// One map of all ids. Consumes the tables: their memory is freed as early as can be.
[[nodiscard]] MergedIds merge_ids(std::vector<IdTable> tables);

/// One map of all keys, in any order and maybe more than once; index_of[0][i] is the index of
/// keys[i]. Text is of integers where each is one as it is canonically written.
[[nodiscard]] MergedIds merge_keys(std::span<const std::int64_t> keys);
[[nodiscard]] MergedIds merge_keys(std::span<const std::string_view> keys);

/// The same ids in the same order as text.
[[nodiscard]] IdMap as_text(const IdMap& ids);

}  // namespace likewise
