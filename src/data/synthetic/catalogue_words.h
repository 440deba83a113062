// SPDX-License-Identifier: Apache-2.0
/// The words that the demo's film titles and viewers' names are made of.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace likewise {

using Words = std::span<const std::string_view>;

/// One genre. In a pattern {A}, {B} and {C} stand for a word of that list.
struct GenreWords {
  std::string_view name;    ///< of one film: "western"
  std::string_view plural;  ///< of a taste: "westerns"
  /// How many films of each decade there are, from the 1950s on.
  std::array<int, 8> films;
  Words patterns;
  std::array<Words, 3> lists;
};

[[nodiscard]] std::span<const GenreWords> genre_words();

[[nodiscard]] Words first_names();
[[nodiscard]] Words last_names();

}  // namespace likewise
