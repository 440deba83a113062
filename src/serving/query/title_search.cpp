// SPDX-License-Identifier: Apache-2.0
#include "likewise/title_search.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <tuple>
#include <utf8proc.h>
#include <utility>

#include "core/require.h"

namespace likewise {
namespace {

/// How well an item fits; the smallest is the best.
enum Fit { kBegins, kBeginsWord, kInside, kNot };

[[nodiscard]] std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(" \t\n\r", at)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(" \t\n\r", at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

[[nodiscard]] std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// Letters and digits, and all that is not ASCII.
[[nodiscard]] bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 128;
}

[[nodiscard]] bool begins_word(std::string_view text, std::string_view word) {
  std::size_t at = 0;
  for (; (at = text.find(word, at)) != std::string_view::npos; ++at) {
    if (at == 0 || !in_word(text[at - 1])) return true;
  }
  return false;
}

[[nodiscard]] Fit fit_of(std::string_view text, std::string_view whole,
                         const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (text.find(word) == std::string_view::npos) return kNot;
  }
  if (text.starts_with(whole)) return kBegins;
  return begins_word(text, words.front()) ? kBeginsWord : kInside;
}

struct Found {
  Fit fit;
  Offset weight;
  Index item;
};

[[nodiscard]] bool better(const Found& a, const Found& b) {
  return std::tuple(a.fit, -a.weight, a.item) < std::tuple(b.fit, -b.weight, b.item);
}

[[nodiscard]] std::vector<Index> best(std::vector<Found> found, Index n) {
  const auto count = std::min(static_cast<std::size_t>(n), found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end(),
                    better);
  std::vector<Index> items(count);
  for (std::size_t f = 0; f < count; ++f) items[f] = found[f].item;
  return items;
}

}  // namespace

std::string folded(std::string_view text) {
  utf8proc_uint8_t* made = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT |
                                                      UTF8PROC_CASEFOLD | UTF8PROC_STRIPMARK);
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &made, options);
  if (size < 0) return std::string(text);
  std::string result(reinterpret_cast<const char*>(made), static_cast<std::size_t>(size));
  std::free(made);
  return result;
}

TitleSearch::TitleSearch(const Titles& titles, const IdMap& items, std::vector<Offset> weights)
    : weights_(std::move(weights)) {
  require(std::ssize(weights_) == items.size(), "titles are searched with a weight for each item");
  offsets_.push_back(0);
  for (Index item = 0; item < items.size(); ++item) {
    chars_ += folded(titles.of(item));
    if (!titles.of(item).empty()) chars_ += '\n';
    chars_ += folded(items.name(item));
    offsets_.push_back(std::ssize(chars_));
  }
}

std::string_view TitleSearch::text(Index item) const {
  const auto i = static_cast<std::size_t>(item);
  return std::string_view(chars_).substr(static_cast<std::size_t>(offsets_[i]),
                                         static_cast<std::size_t>(offsets_[i + 1] - offsets_[i]));
}

std::vector<Index> TitleSearch::find(std::string_view query, Index n) const {
  require(n >= 1, "n must be 1 or more");
  const std::vector<std::string> words = words_of(folded(query));
  const std::string whole = joined(words);
  std::vector<Found> found;
  for (Index item = 0; item < std::ssize(weights_); ++item) {
    const Fit fit = words.empty() ? kBegins : fit_of(text(item), whole, words);
    if (fit != kNot) found.push_back({fit, weight(item), item});
  }
  return best(std::move(found), n);
}

std::vector<Offset> users_of_items(const CsrView& by_user) {
  std::vector<Offset> counts(static_cast<std::size_t>(by_user.cols));
  for (Index user = 0; user < by_user.rows; ++user) {
    for (const Index item : by_user.row_columns(user)) ++counts[static_cast<std::size_t>(item)];
  }
  return counts;
}

}  // namespace likewise
