// SPDX-License-Identifier: Apache-2.0
#include "likewise/suggestion.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace likewise {
namespace {

/// What other programs call something, and what it is called here.
struct Synonym {
  std::string_view elsewhere;
  std::string_view here;
};

constexpr std::array kSynonyms = std::to_array<Synonym>({
    {"k", "n"},
    {"topk", "n"},
    {"top-k", "n"},
    {"topn", "n"},
    {"num-items", "n"},
    {"topk", "k"},
    {"top-k", "k"},
    {"n", "k"},
    {"n-trials", "budget"},
    {"test-size", "test"},
    {"n-neighbors", "neighbours"},
    {"rank", "factors"},
    {"num-factors", "factors"},
    {"epochs", "iterations"},
    {"n-epochs", "iterations"},
    {"n-iter", "iterations"},
    {"reg-all", "regularization"},
    {"lambda-reg", "regularization"},
    {"verbose", "progress"},
    {"use-gpu", "device"},
    {"user-col", "user"},
    {"item-col", "item"},
    {"rating-col", "value"},
    {"bad-rows", "on-bad-row"},
    {"cv", "folds"},
    {"k", "neighbours"},
    {"metric", "similarity"},
    {"sim-options", "similarity"},
    {"partial-fit", "update"},
    {"max-iter", "iterations"},
    {"lambda", "regularization"},
    {"lr", "learning-rate"},
    {"lr-all", "learning-rate"},
    {"n-jobs", "threads"},
    {"num-threads", "threads"},
    {"random-state", "seed"},
    {"filter-already-liked-items", "include-seen"},
    {"exclude-seen", "include-seen"},
    {"filter-seen", "include-seen"},
    {"filter-items", "exclude"},
    {"filter-items", "deny"},
});

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

/// In lower case, without the dashes in front, with dashes for underscores.
std::string plain(std::string_view word) {
  std::string text(word.substr(std::min(word.size(), word.find_first_not_of('-'))));
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    if (letter == '_') letter = '-';
  }
  return text;
}

/// How far apart two plain words are: 0 for the same, 1 where one is the beginning of the other.
std::size_t distance(const std::string& word, const std::string& name) {
  const bool known = std::ranges::any_of(
      kSynonyms, [&](const Synonym& one) { return one.elsewhere == word && one.here == name; });
  if (known) return 0;
  const bool begins =
      (word.size() > 2 && name.starts_with(word)) || (name.size() > 2 && word.starts_with(name));
  return begins ? 1 : edit_distance(word, name);
}

/// The candidate with the fewest edits from `word`, or "" when none is near enough to be a slip of
/// the keys.
std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  const std::string given = plain(word);
  std::size_t best_distance = (given.size() + 1) / 3 + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t edits = distance(given, plain(candidate));
    if (edits < best_distance) {
      best = candidate;
      best_distance = edits;
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
