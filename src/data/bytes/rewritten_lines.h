// SPDX-License-Identifier: Apache-2.0
/// Text of one form as text of another, line by line: line numbers stay what they are.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "data/bytes/byte_source.h"

namespace likewise {

/// Appends to `out` what a line becomes, both without a line end. `number` counts from 1.
using RewriteLine = std::function<void(std::string_view line, Offset number, std::string& out)>;

/// Serves `before` and then every line of `raw` as `rewrite` makes it. A line of more than
/// `max_line_bytes` or with a zero byte is kBadData. `name` is for messages. `end` is called after
/// the last line.
[[nodiscard]] ByteSourcePtr rewritten_lines(ByteSourcePtr raw, std::string before,
                                            RewriteLine rewrite, std::size_t max_line_bytes,
                                            std::string name, std::function<void()> end = {});

}  // namespace likewise
