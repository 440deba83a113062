// SPDX-License-Identifier: Apache-2.0
/// Parquet and Arrow files as the CSV that stands for them.
#pragma once

#include <optional>
#include <string>

#include "data/bytes/byte_source.h"
#include "data/columnar/columnar.h"
#include "data/text/format.h"
#include "likewise/read.h"

namespace likewise {

/// What a file is by its first bytes; nothing for other files, and for what cannot be read twice (a
/// pipe).
[[nodiscard]] std::optional<ColumnarKind> columnar_kind(const std::string& path);

/// The rows of a file, and what is known of them.
struct ColumnarText {
  ByteSourcePtr source;    ///< rows of CSV, without a header
  FileFormat format;       ///< of these rows
  std::string first_rows;  ///< as in `source`, but with all columns
};

/// The columns are found as those of CSV with a header. `file` is the name in messages. Errors:
/// kBadData, kInvalidArgument (options of text; columns that no user, item, value or time can be
/// in), kOutOfMemory.
[[nodiscard]] ColumnarText open_columnar(const std::string& path, ColumnarKind kind,
                                         const std::string& file, const ReadOptions& options);

}  // namespace likewise
