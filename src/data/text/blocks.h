// SPDX-License-Identifier: Apache-2.0
/// Blocks of rows below a line that names their item or user, as CSV with the same line numbers.
#pragma once

#include <string>
#include <string_view>

#include "data/bytes/byte_source.h"
#include "likewise/read.h"

namespace likewise {

/// "7:", above rows of user,rating,date.
[[nodiscard]] bool is_netflix_start(std::string_view line);
/// "7|4", above rows of item, score, day and time.
[[nodiscard]] bool is_kdd_start(std::string_view line);

/// The rows of `raw`, of Format::kNetflix or kKddCup, as user,item,value,time. A line that is
/// neither the begin of a block nor one of its rows is kBadData, or with BadRows::kSkip a row
/// without ids. Throws kInvalidArgument for options that say what the columns are.
[[nodiscard]] ByteSourcePtr blocks_as_csv(ByteSourcePtr raw, const ReadOptions& options,
                                          std::size_t max_line_bytes, const std::string& file);

}  // namespace likewise
