// SPDX-License-Identifier: Apache-2.0
#include "data/text/words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/text/numbers.h"
#include "likewise/error.h"

namespace likewise {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::kInvalidArgument, why); }

std::optional<float> truth_of(std::string_view cell) {
  if (cell == "true" || cell == "True" || cell == "TRUE") return 1.0F;
  if (cell == "false" || cell == "False" || cell == "FALSE") return 0.0F;
  return std::nullopt;
}

std::optional<float> value_with_comma(std::string_view cell) {
  if (cell.find('.') != std::string_view::npos) return std::nullopt;
  std::string number(cell);
  std::replace(number.begin(), number.end(), ',', '.');
  return parse_value(number);
}

bool is_among(const Words& words, const std::string& word) {
  return std::any_of(words.begin(), words.end(),
                     [&](const auto& known) { return known.first == word; });
}

/// The words among some cells, each once, in the order in which they come.
std::vector<std::string> different_words(std::span<const std::string> cells) {
  std::vector<std::string> words;
  for (const std::string& cell : cells) {
    if (is_word(cell) && std::find(words.begin(), words.end(), cell) == words.end()) {
      words.push_back(cell);
    }
  }
  return words;
}

/// Whatever their letters' case.
[[nodiscard]] bool is_one_of(std::span<const std::string_view> words, std::string_view cell) {
  return std::find(words.begin(), words.end(), lower(cell)) != words.end();
}

[[nodiscard]] bool is_dislike(std::string_view word) {
  constexpr std::array<std::string_view, 6> kDislikes{"no",     "dislike", "dislikes",
                                                      "unlike", "down",    "negative"};
  return is_one_of(kDislikes, word);
}

}  // namespace

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return result;
}

Words checked_words(const ReadOptions& options) {
  Words words;
  for (const auto& [word, value] : options.word_values) {
    if (word.empty()) refuse(fmt::format("{}: a word is empty", mention("values")));
    if (is_among(words, word)) {
      refuse(fmt::format("{}: '{}' comes twice", mention("values"), printable(word)));
    }
    const auto number = static_cast<float>(value);
    if (!fits_value(value)) {
      refuse(fmt::format("{}: the value of '{}' must be a finite 32-bit number ({}), not {}",
                         mention("values"), printable(word), kValueSizes, value));
    }
    words.emplace_back(word, number);
  }
  return words;
}

std::optional<float> value_of(std::string_view cell, const Words& words, bool decimal_comma) {
  if (words.empty()) {
    const auto number = decimal_comma ? value_with_comma(cell) : parse_value(cell);
    return number ? number : truth_of(cell);
  }
  for (const auto& [word, value] : words) {
    if (word == cell) return value;
  }
  return std::nullopt;
}

bool is_no_number(std::string_view cell) {
  constexpr std::array<std::string_view, 9> kNone{"nan", "null",     "na", "n/a", "none",
                                                  "inf", "infinity", "-",  "?"};
  return is_one_of(kNone, cell);
}

bool is_word(std::string_view cell) {
  if (cell.empty() || value_of(cell, {})) return false;
  const auto first = static_cast<unsigned char>(cell.front());
  if (std::isalpha(first) == 0 && first < 0x80) return false;
  return !is_no_number(cell);
}

bool are_words(std::span<const std::string> cells) {
  const auto words = std::count_if(cells.begin(), cells.end(), is_word);
  return words > 0 && 10 * words >= 9 * std::ssize(cells);
}

std::string words_to_explain(std::span<const std::string> cells) {
  constexpr std::size_t kMost = 20;
  std::vector<std::string> words = different_words(cells);
  const bool more = words.size() > kMost;
  if (more) words.resize(kMost);
  std::string option;
  std::string shown;
  int larger = 0;
  for (std::size_t w = 0; w < words.size(); ++w) {
    const std::string word = printable(words[w], 30);
    shown += fmt::format("{}'{}'", w == 0 ? "" : ", ", word);
    option += fmt::format("{}{}={}", w == 0 ? "" : ",", word, is_dislike(words[w]) ? -1 : ++larger);
  }
  return fmt::format("{}{}: say what each counts, as {}", shown, more ? ", ..." : "",
                     mention("values", option));
}

std::vector<std::pair<std::string, double>> parse_word_values(std::string_view text) {
  std::vector<std::pair<std::string, double>> words;
  while (true) {
    const std::string_view one = text.substr(0, text.find(','));
    const std::size_t equals = one.rfind('=');
    const auto value =
        equals == std::string_view::npos ? std::nullopt : parse_double(one.substr(equals + 1));
    if (!value || equals == 0) {
      refuse(fmt::format("{}: '{}' is not a word and its number, as view=1", mention("values"),
                         printable(one)));
    }
    words.emplace_back(one.substr(0, equals), *value);
    if (one.size() == text.size()) return words;
    text.remove_prefix(one.size() + 1);
  }
}

}  // namespace likewise
