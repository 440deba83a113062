// SPDX-License-Identifier: Apache-2.0
/// `Interactions`: who liked what, ready for training.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "likewise/array.h"
#include "likewise/csr.h"
#include "likewise/types.h"

namespace likewise {

/// `IdMap`: outside ids (text or 64-bit integers) <-> dense indices 0..size()-1.
///
/// Indices follow the ids' order (integers by value, also where they were given as text; other text
/// byte by byte; where text joined integers, these first), so the same data gives the same indices
/// in whatever order it was read, and ties go to the smaller id. Look-ups are binary searches, no
/// hash table. Immutable; thread-safe.
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
  /// otherwise; there integers() are those that come first, where text joined them, or all.
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

/// A moment. 12 bytes: three halves of 32 bits, so that no padding lies beside a file's rows.
class Time {
 public:
  Time() = default;
  /// `seconds` since 1970 (UTC), rounded down, and `nanoseconds` in [0, 1e9) after them.
  constexpr explicit Time(std::int64_t seconds, std::uint32_t nanoseconds = 0)
      : low_(static_cast<std::uint32_t>(seconds)),
        high_(static_cast<std::int32_t>(seconds >> 32)),
        nanoseconds_(nanoseconds) {}

  [[nodiscard]] constexpr std::int64_t seconds() const {
    return (std::int64_t{high_} << 32) | low_;
  }
  [[nodiscard]] constexpr std::uint32_t nanoseconds() const { return nanoseconds_; }

  friend constexpr bool operator==(const Time&, const Time&) = default;
  friend constexpr std::strong_ordering operator<=>(const Time& a, const Time& b) {
    const auto order = a.seconds() <=> b.seconds();
    return order != 0 ? order : a.nanoseconds_ <=> b.nanoseconds_;
  }

 private:
  std::uint32_t low_;
  std::int32_t high_;
  std::uint32_t nanoseconds_;
};

/// How times are written. Numbers count from 1970 and tell their unit by their size (see
/// ReadOptions::keep_times); seconds may have a fraction. kDate is "2001-02-03", kDateTime
/// "2001-02-03T04:05:06.789Z".
enum class TimeForm : std::uint8_t {
  kSeconds,
  kMilliseconds,
  kMicroseconds,
  kNanoseconds,
  kDate,
  kDateTime
};

/// A moment as files write it: see ReadOptions::keep_times. Nothing where the text is none, or a
/// year or day without dashes ("2005", "20050131").
[[nodiscard]] std::optional<Time> parse_moment(std::string_view text);

/// The seconds of "90d": a number above 0 and s, min, h, d, w (7 d) or y (365.25 d). Nothing where
/// the text is none.
[[nodiscard]] std::optional<double> parse_duration(std::string_view text);

struct Interactions {
  IdMap users;
  IdMap items;
  CsrMatrix by_user;  ///< users.size() x items.size()
  Array<Time> times;  ///< empty, or beside by_user's entries
  /// What the file wrote all times as, kSeconds where it mixes forms: writing goes by it.
  TimeForm time_form = TimeForm::kSeconds;
  /// Values are lower the older they are (ReadOptions::half_life): of implicit feedback alone.
  bool faded = false;
  /// Where a file holds the value of a user and an item, for messages: "ratings.csv:17", or nothing
  /// where it does not. Reads the file again. Empty for data that came from no file.
  std::function<std::string(std::string_view user, std::string_view item)> place_in_file{};

  [[nodiscard]] bool has_times() const { return !times.empty(); }
};

}  // namespace likewise
