// SPDX-License-Identifier: Apache-2.0
/// Reads interaction files: CSV, TSV, "::"- or space-separated text and Matrix Market; plain, gzip
/// or zstd (told by content, not by name). Parsing is parallel; the result does not depend on it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "likewise/control.h"
#include "likewise/interactions.h"

namespace likewise {

enum class Header { kAuto, kYes, kNo };
/// What several rows with the same user and item become. kAuto: the sum where the file has no value
/// column (each row is one event), else the last row's value (a changed rating).
enum class Duplicates { kAuto, kSum, kLast, kMax, kError };
enum class BadRows { kFail, kSkip };

struct ReadOptions {
  /// Names (from the header) or 1-based numbers of the columns user, item, value, time. Empty
  /// vector: by well-known header names, else the first columns in that order. An entry "" or "-"
  /// leaves value or time out.
  std::vector<std::string> columns;
  std::string delimiter;               ///< empty: detected among , tab ; | :: and spaces
  Header header = Header::kAuto;
  Duplicates duplicates = Duplicates::kAuto;
  std::optional<double> min_value;     ///< drop rows below it
  Index min_user_count = 0;            ///< drop users with fewer items; with min_item_count,
  Index min_item_count = 0;            ///<   repeated until nothing changes
  BadRows on_bad_row = BadRows::kFail;
};

/// What reading met, for people and for `info`.
struct ReadSummary {
  Offset rows = 0;                     ///< data rows in the file
  Offset bad_rows = 0;                 ///< skipped (on_bad_row = kSkip)
  std::string first_bad_row;           ///< the message it would have failed with
  Offset duplicates = 0;               ///< rows merged into an earlier one
  Offset below_min_value = 0;
  Offset below_min_count = 0;
  std::string format;                  ///< e.g. "csv, gzip, header userId,movieId,rating,timestamp"
};

/// Errors: kNotFound, kIo, kBadData (file, line, value, remedy), kInvalidArgument (an option that
/// does not fit the file), kOutOfMemory, kCancelled.
[[nodiscard]] Interactions read_interactions(const std::string& path, const ReadOptions& options = {},
                                             ReadSummary* summary = nullptr,
                                             const RunControl& control = {});

}  // namespace likewise
