// SPDX-License-Identifier: Apache-2.0
/// JSON lines as CSV, with the same line numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "data/bytes/byte_source.h"
#include "likewise/read.h"

namespace likewise {

/// Whether a text begins an object on its first line. Throws kBadData for an array, and for an
/// object over several lines.
[[nodiscard]] bool is_json_lines(std::string_view head, const std::string& file);

/// The objects of `raw` as rows of CSV under a header of the keys that `head`, its first lines,
/// has. A line that is no object is kBadData, or with `skip` a row without ids. `columns` are those
/// that the caller names.
[[nodiscard]] ByteSourcePtr json_as_csv(ByteSourcePtr raw, std::string_view head,
                                        const ReadOptions& options, std::size_t max_line_bytes,
                                        const std::string& file);

}  // namespace likewise
