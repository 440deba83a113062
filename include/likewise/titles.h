// SPDX-License-Identifier: Apache-2.0
/// `Titles`: what items are called, for lists that people read; and the files that say it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "likewise/array.h"
#include "likewise/interactions.h"

namespace likewise {

/// By item index. UTF-8 without control characters; an empty title is none.
struct Titles {
  Array<char> chars;
  Array<Offset> offsets;  ///< item i's title is chars[offsets[i], offsets[i + 1]); empty: no titles

  [[nodiscard]] bool empty() const { return offsets.empty(); }
  [[nodiscard]] std::string_view of(Index item) const {
    if (empty()) return {};
    return {chars.data() + offsets[item],
            static_cast<std::size_t>(offsets[item + 1] - offsets[item])};
  }
  /// Items that have one.
  [[nodiscard]] Index count() const;
  /// The same memory, as Array::share().
  [[nodiscard]] Titles share() const { return {chars.share(), offsets.share()}; }

  /// Throws Error(kBadData) unless there are none, or `items` of the form above.
  void validate(Index items) const;
};

/// One title per item, in their order.
[[nodiscard]] Titles make_titles(const std::vector<std::string>& by_item);

struct TitleOptions {
  /// Names or 1-based numbers of the columns item id and title. Empty: by well-known header names
  /// (movieId, book_id, id and their like; title, name and their like), else the first two.
  std::vector<std::string> columns{};
};

/// What reading titles met.
struct TitleSummary {
  Offset unknown = 0;  ///< titles of items that are not among `items`
  std::string remark;  ///< where the file is not UTF-8: since which line, and how it was read
  std::string format;  ///< e.g. "csv, header movieId,title,genres"
};

/// Reads titles of `items` from delimited text; "-" reads standard input. Delimiter, header and
/// quotes are as of interactions (likewise/read.h), plain, gzip or zstd; a quoted field may hold
/// line ends. Ids are compared byte by byte. Where a title is not UTF-8, all are read as
/// Windows-1252, which holds Latin-1. Control characters and line ends in a title become blanks.
///
/// Errors: kNotFound, kIo, kBadData (file, line and value: a row without the two columns or with
/// more than the header or most rows, an empty id, an id that comes twice; not one title of an item
/// that is known), kInvalidArgument (columns that are not there).
[[nodiscard]] Titles read_titles(const std::string& path, const IdMap& items,
                                 const TitleOptions& options = {}, TitleSummary* summary = nullptr);

}  // namespace likewise
