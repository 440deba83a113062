// SPDX-License-Identifier: Apache-2.0
/// Columns of values that hold words: "view" and "purchase", "true" and "false".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "likewise/read.h"

namespace likewise {

using Words = std::vector<std::pair<std::string, float>>;

/// `text` in lower case, letter by letter: ASCII alone.
[[nodiscard]] std::string lower(std::string_view text);

/// The words of options, in 32 bits. Throws kInvalidArgument for one that comes twice, is empty, or
/// has a value that is not finite.
[[nodiscard]] Words checked_words(const ReadOptions& options);
/// The value of a cell: by `words` where there are any, else a number, or 1 for true and 0 for
/// false (also "True" and "TRUE").
/// With `decimal_comma` a comma stands before a number's fraction, and a point nowhere.
[[nodiscard]] std::optional<float> value_of(std::string_view cell, const Words& words,
                                            bool decimal_comma = false);
/// Whether a cell says that there is no number: "nan", "NULL", "N/A", "-" and the like.
[[nodiscard]] bool is_no_number(std::string_view cell);
/// Whether a cell that is no value begins as words do, and is not is_no_number().
[[nodiscard]] bool is_word(std::string_view cell);
/// Whether at least nine of ten cells are words.
[[nodiscard]] bool are_words(std::span<const std::string> cells);
/// "'view', 'cart' and 'buy': say what each counts with --values view=1,cart=2,buy=3".
[[nodiscard]] std::string words_to_explain(std::span<const std::string> cells);

}  // namespace likewise
