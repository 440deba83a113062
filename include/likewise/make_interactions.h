// SPDX-License-Identifier: Apache-2.0
/// Makes interactions of rows that are in memory already: ids of any kind, row and column numbers,
/// or sparse rows (CSR). The same rows in a file give the same Interactions, bit by bit: the same
/// order of ids, the same policies, the same summary; but ids that are given as text stay text
/// where a file has whole numbers. Nothing is kept of the memory passed in; all of it is borrowed
/// for the time of the call. Parallel; the result does not depend on the number of threads.
/// Memory: about 12 bytes a row (24 with times) on the way, and the result.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "likewise/control.h"
#include "likewise/interactions.h"
#include "likewise/read.h"
#include "likewise/types.h"

namespace likewise {

/// Whole numbers of either size, as other programs hold them.
using IntegerSpan = std::variant<std::span<const std::int64_t>, std::span<const std::int32_t>>;

/// Values, made 32-bit (rounded to the nearest). One that is not finite then is a bad row, and one
/// that becomes 0.
using ValueSpan = std::variant<std::span<const float>, std::span<const double>>;

/// Text ids as Arrow lays them out: id i is bytes[offsets[i], offsets[i + 1]). An empty one is a
/// missing id, and a bad row. Offsets that fall or pass the bytes are an error.
struct TextColumn {
  IntegerSpan offsets;  ///< one more than ids; or none
  std::span<const char> bytes;
};

/// Row or column numbers. The ids are 0, 1, ..., count - 1, and all of them are in the result, also
/// those that no row has; a filter of the options (min_value, min_user_count, min_item_count) drops
/// what has no interactions left, as in files. A number outside of [0, count) is a bad row.
struct IndexColumn {
  IntegerSpan numbers;
  Index count = 0;
};

/// Ids by number in a table of their own (a dictionary of Arrow, categories of pandas and polars):
/// row i has the id keys[codes[i]]. A code outside of [0, keys) is a missing id, as an empty key
/// is, and a bad row. It is as the column of the ids themselves, bit-identical, and no row is
/// hashed: keys may come in any order and more than once, and those that no row has are no ids.
struct EncodedColumn {
  IntegerSpan codes;
  std::variant<std::span<const std::int64_t>, std::span<const std::string_view>, TextColumn> keys;
};

/// One id per row. Where every id of a column of text is an integer as it is canonically written,
/// their order is that of the integers, as in files; apart from that text is taken byte by byte,
/// blanks and all.
using IdColumn = std::variant<std::span<const std::int64_t>, std::span<const std::string_view>,
                              TextColumn, IndexColumn, EncodedColumn>;

/// Sparse rows: user u's items are columns[offsets[u], offsets[u + 1]), in any order. Ids are as of
/// an IndexColumn, for offsets.size() - 1 users and `cols` items. Offsets that do not begin at 0,
/// fall or do not end at columns.size() are an error; a column outside of [0, cols) is a bad row.
struct CsrColumns {
  IntegerSpan offsets;
  IntegerSpan columns;
  Index cols = 0;
};

/// Times as numbers since 1970 (UTC).
struct TimeColumn {
  std::span<const std::int64_t> numbers{};  ///< empty: there are no times
  /// kSeconds, kMilliseconds, kMicroseconds or kNanoseconds for all; nothing: each number tells by
  /// its size, as in files (see ReadOptions::keep_times).
  std::optional<TimeForm> unit{};
};

/// The text of a row of a column that has it; empty where it is missing or a number.
[[nodiscard]] std::string_view text_at(const IdColumn& column, Offset row);

/// Values of a column of words or of numbers as text, by `word_values` of the options, as in files;
/// NaN, a bad row, where one is missing or means nothing. Throws kInvalidArgument for a column of
/// words that the options do not explain, and lists them. `name` is the column's, for messages.
[[nodiscard]] std::vector<float> values_of_words(const IdColumn& words, const ReadOptions& options,
                                                 std::string_view name);

/// Times of a column of text, as files write them (see ReadOptions::keep_times and time_format), in
/// nanoseconds where all of them fit, else in microseconds; the least number, a bad row, where one
/// is missing or no time.
struct WrittenTimes {
  std::vector<std::int64_t> numbers;
  TimeForm unit = TimeForm::kNanoseconds;
};

[[nodiscard]] WrittenTimes times_of_text(const IdColumn& texts, const std::string& time_format);

/// The same of numbers with fractions since 1970, in `unit` (kSeconds to kNanoseconds), or each of
/// the unit that its size tells.
[[nodiscard]] WrittenTimes times_of_numbers(std::span<const double> numbers,
                                            std::optional<TimeForm> unit);

/// `values`: empty: all 1. `times`: kept where they are given. Otherwise as long as users and
/// items, or kInvalidArgument. A bad row (a missing id, a number out of its range, a value that is
/// not finite, a time outside of the years that files can write) is counted from 0 in messages.
///
/// Of `options` the policies and filters hold, and Values::kRequired; what is about the text of
/// files (columns, delimiter, header, keep_times, Values::kUnused, word_values, decimal,
/// time_format) is kInvalidArgument. `summary`
/// has the format "memory", and names the columns that were given.
///
/// Errors: kInvalidArgument, kBadData (position, value, remedy; nothing but bad rows; no rows at
/// all), kOutOfMemory, kCancelled. Reports progress as stage "read" in rows.
[[nodiscard]] Interactions make_interactions(const IdColumn& users, const IdColumn& items,
                                             const ValueSpan& values = {},
                                             const TimeColumn& times = {},
                                             const ReadOptions& options = {},
                                             ReadSummary* summary = nullptr,
                                             const RunControl& control = {});

[[nodiscard]] Interactions make_interactions(const CsrColumns& rows, const ValueSpan& values = {},
                                             const TimeColumn& times = {},
                                             const ReadOptions& options = {},
                                             ReadSummary* summary = nullptr,
                                             const RunControl& control = {});

/// Codes are 0, 1, 2, ... in the order in which ids first come. All ids of one encoder are text, or
/// all are integers. One thread at a time.
class IdEncoder {
 public:
  IdEncoder();
  ~IdEncoder();
  IdEncoder(IdEncoder&&) noexcept;
  IdEncoder& operator=(IdEncoder&&) noexcept;

  /// The code of an id, new or known; text is copied. Throws Error(kBadData) beyond 2^31 - 1 ids,
  /// and Error(kInvalidArgument) for an integer among text or text among integers.
  [[nodiscard]] Index code(std::string_view id);
  [[nodiscard]] Index code(std::int64_t id);

  [[nodiscard]] Index size() const;  ///< how many different ids came

  /// A column of codes that this encoder gave out, -1 for a missing id. Borrows both.
  [[nodiscard]] EncodedColumn column(std::span<const std::int32_t> codes) const;

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace likewise
