// SPDX-License-Identifier: Apache-2.0
#include "likewise/suggestion.h"

#include <algorithm>
#include <numeric>

namespace likewise {
namespace {

/// Levenshtein's distance: insertions, deletions and replacements, two rows at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({above[j] + (a[i] == b[j] ? 0U : 1U), above[j + 1] + 1, row[j] + 1});
    }
    above.swap(row);
  }
  return above[b.size()];
}

std::string_view without_dashes(std::string_view word) {
  return word.substr(std::min(word.size(), word.find_first_not_of('-')));
}

/// The candidate with the fewest edits from `word`, or "" when none is near enough to be a slip of
/// the keys.
std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  word = without_dashes(word);
  std::size_t best_distance = (word.size() + 1) / 3 + 1;
  for (const std::string& candidate : candidates) {
    const std::string_view name = without_dashes(candidate);
    const bool begins = word.size() > 2 && name.starts_with(word);
    const std::size_t distance = begins ? 1 : edit_distance(word, name);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string best = nearest_word(word, candidates);
  return best.empty() ? "" : " (did you mean " + best + "?)";
}

}  // namespace likewise
