// SPDX-License-Identifier: Apache-2.0
#include "data/synthetic/catalogue_films.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "data/synthetic/catalogue_words.h"
#include "data/synthetic/synthetic_streams.h"

namespace likewise {
namespace {

constexpr std::uint64_t kTitleSeed = 1895;
constexpr int kFirstYear = 1950;
constexpr int kLastYear = 2025;

/// Words dealt like cards: none comes again before all have been there.
class Deck {
 public:
  Deck(Words words, CounterRandom& random) : words_(words), random_(random) {}

  [[nodiscard]] std::string_view deal() {
    if (next_ == order_.size()) shuffle();
    return words_[order_[next_++]];
  }

 private:
  void shuffle() {
    order_.resize(words_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    for (std::size_t i = order_.size(); i > 1; --i) {
      std::swap(order_[i - 1], order_[random_.below(i)]);
    }
    next_ = 0;
  }

  Words words_;
  CounterRandom& random_;
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;
};

class TitleWriter {
 public:
  TitleWriter(const GenreWords& genre, CounterRandom& random)
      : patterns_(genre.patterns, random),
        decks_{Deck(genre.lists[0], random), Deck(genre.lists[1], random),
               Deck(genre.lists[2], random)} {}

  /// The next pattern, with a dealt word for each of {A}, {B} and {C}.
  [[nodiscard]] std::string next() {
    const std::string_view pattern = patterns_.deal();
    std::string title;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] != '{') {
        title += pattern[i];
      } else {
        title += decks_[static_cast<std::size_t>(pattern[i + 1] - 'A')].deal();
        i += 2;
      }
    }
    return title;
  }

 private:
  Deck patterns_;
  std::array<Deck, 3> decks_;
};

}  // namespace

std::vector<Film> catalogue_films() {
  std::vector<Film> films;
  std::set<std::string> titles;
  std::uint64_t row = 0;
  for (const GenreWords& genre : genre_words()) {
    CounterRandom random(kTitleSeed, kStreamTitles, row++);
    TitleWriter maker(genre, random);
    int decade = kFirstYear;
    for (const int count : genre.films) {
      const auto years = static_cast<std::uint64_t>(std::min(10, kLastYear - decade + 1));
      for (int i = 0; i < count; ++i) {
        std::string title = maker.next();
        while (!titles.insert(title).second) title = maker.next();
        films.push_back({std::move(title), std::string(genre.name),
                         decade + static_cast<int>(random.below(years))});
      }
      decade += 10;
    }
  }
  std::sort(films.begin(), films.end(),
            [](const Film& a, const Film& b) { return a.title < b.title; });
  return films;
}

}  // namespace likewise
