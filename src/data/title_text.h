// SPDX-License-Identifier: Apache-2.0
/// Titles from a text that is already in memory: what read_titles does line by line.
#pragma once

#include <string>
#include <string_view>

#include "likewise/titles.h"

namespace likewise {

/// `file` is the name in messages.
[[nodiscard]] Titles titles_from_text(std::string_view text, const std::string& file,
                                      const IdMap& items, const TitleOptions& options,
                                      TitleSummary& summary);

}  // namespace likewise
