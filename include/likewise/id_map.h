// SPDX-License-Identifier: Apache-2.0
/// `IdMap`: outside ids (text or 64-bit integers) <-> dense indices 0..size()-1.
///
/// Indices follow the ids' order (integers by value, text byte by byte; where text joined integers,
/// these first), so the same data gives the same indices in whatever order it was read, and ties
/// go to the smaller id. Look-ups are binary searches, no hash table. Immutable; thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "likewise/array.h"
#include "likewise/types.h"

namespace likewise {

class IdMap {
 public:
  IdMap() = default;

  /// Ids 0, 1, ..., size-1.
  [[nodiscard]] static IdMap range(Index size);
  /// Strictly rising integers. Throws Error(kBadData) if they are not.
  [[nodiscard]] static IdMap from_sorted_integers(Array<std::int64_t> ids);
  /// Text i is chars[offsets[i], offsets[i+1]); rising, or integers first. Else Error(kBadData).
  [[nodiscard]] static IdMap from_sorted_text(Array<char> chars, Array<Offset> offsets);
  /// Any order, duplicates dropped: for tests and small data.
  [[nodiscard]] static IdMap from_text(std::span<const std::string> ids);

  [[nodiscard]] Index size() const { return size_; }
  [[nodiscard]] bool is_integer() const { return integer_; }

  /// The index of an id, or nothing. For an integer map the text must be that integer as it is
  /// written canonically ("7", not "007").
  [[nodiscard]] std::optional<Index> find(std::string_view id) const;
  [[nodiscard]] std::optional<Index> find(std::int64_t id) const;

  /// The id of an index in [0, size()), as text.
  [[nodiscard]] std::string name(Index index) const;

  /// Raw content, for writing a model: integers() for integer maps, chars() and offsets()
  /// otherwise; there integers() are those that come first, where text joined them.
  [[nodiscard]] std::span<const std::int64_t> integers() const { return integers_.span(); }
  [[nodiscard]] std::span<const char> chars() const { return chars_.span(); }
  [[nodiscard]] std::span<const Offset> offsets() const { return offsets_.span(); }

  [[nodiscard]] IdMap clone() const;
  /// The same ids in the same memory.
  [[nodiscard]] IdMap share() const;

 private:
  [[nodiscard]] std::string_view text(Index index) const {
    return {chars_.data() + offsets_[index],
            static_cast<std::size_t>(offsets_[index + 1] - offsets_[index])};
  }

  bool integer_ = true;
  Index size_ = 0;
  Array<std::int64_t> integers_;
  Array<char> chars_;
  Array<Offset> offsets_;
};

/// The integer that `text` spells canonically (no sign "+", no leading zeros, in range), or
/// nothing.
[[nodiscard]] std::optional<std::int64_t> canonical_integer(std::string_view text);

}  // namespace likewise
