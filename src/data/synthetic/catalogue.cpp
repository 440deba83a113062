// SPDX-License-Identifier: Apache-2.0
/// Viewers and what they watch. A viewer has one or two genres and a decade at heart; a film's pull
/// is its popularity times how well it fits, and the films watched are drawn by pull without
/// replacement.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "data/synthetic/catalogue_films.h"
#include "data/synthetic/catalogue_words.h"
#include "data/synthetic/synthetic_streams.h"
#include "likewise/make_interactions.h"

namespace likewise {
namespace {

constexpr std::size_t kViewers = 2900;
constexpr double kUsualViewings = 32.0;  // the median viewer's films, with two genres
constexpr double kViewingsSigma = 0.55;
constexpr std::size_t kFewestViewings = 5;
constexpr double kPopularitySigma = 0.8;
constexpr double kDecadeWidth = 0.9;  // in decades: how far from the favourite a taste reaches
constexpr double kCurious = 0.006;    // the fit of a film that is nothing like the taste
constexpr double kOneGenre = 0.2;  // of the viewers: they run out of films, so watch half as many
constexpr double kSecondGenreShare = 0.7;

/// What is on, by film.
struct Programme {
  std::vector<Film> films;
  std::vector<std::size_t> genres;
  std::vector<double> popularity;
};

struct Taste {
  std::size_t genre = 0;
  std::size_t second = 0;  ///< equal to genre for those with one
  int decade = 0;          ///< its first year
};

std::size_t genre_number(const Film& film) {
  const auto genres = genre_words();
  const auto at = std::find_if(genres.begin(), genres.end(),
                               [&](const GenreWords& genre) { return genre.name == film.genre; });
  return static_cast<std::size_t>(at - genres.begin());
}

std::vector<double> draw_popularity(std::size_t films, std::uint64_t seed) {
  CounterRandom random(seed, kStreamReputations, 0);
  std::vector<double> popularity(films);
  for (double& p : popularity) p = std::exp(kPopularitySigma * random.normal());
  return popularity;
}

/// Different pairs of a first and a last name, in their order.
std::vector<std::string> draw_names(std::uint64_t seed) {
  CounterRandom random(seed, kStreamViewers, 0);
  std::vector<std::string> names;
  for (const std::string_view first : first_names()) {
    for (const std::string_view last : last_names())
      names.push_back(fmt::format("{} {}", first, last));
  }
  for (std::size_t i = 0; i < kViewers; ++i) {
    std::swap(names[i], names[i + random.below(names.size() - i)]);
  }
  names.resize(kViewers);
  std::sort(names.begin(), names.end());
  return names;
}

Programme make_programme(std::uint64_t seed) {
  Programme programme{catalogue_films(), {}, {}};
  for (const Film& film : programme.films) programme.genres.push_back(genre_number(film));
  programme.popularity = draw_popularity(programme.films.size(), seed);
  return programme;
}

/// At home where a random film is: every genre and decade finds viewers for its films.
Taste draw_taste(const Programme& programme, CounterRandom& random) {
  const std::size_t home = random.below(programme.films.size());
  const std::size_t genre = programme.genres[home];
  Taste taste{genre, genre, programme.films[home].year / 10 * 10};
  const std::size_t genres = genre_words().size();
  if (random.uniform() >= kOneGenre) taste.second = (genre + 1 + random.below(genres - 1)) % genres;
  return taste;
}

std::string describe(const Taste& taste) {
  const auto genres = genre_words();
  std::string text(genres[taste.genre].plural);
  if (taste.second != taste.genre) {
    text.append(" and ").append(genres[taste.second].plural);
  }
  return fmt::format("{}, {}s", text, taste.decade);
}

/// In [kCurious, 1 + kCurious].
double fit(const Taste& taste, const Programme& programme, std::size_t film) {
  const std::size_t genre = programme.genres[film];
  double share = 0.0;
  if (genre == taste.second) share = kSecondGenreShare;
  if (genre == taste.genre) share = 1.0;
  const int decade = programme.films[film].year / 10 * 10;
  const double distance = (decade - taste.decade) / 10.0 / kDecadeWidth;
  return kCurious + share * std::exp(-0.5 * distance * distance);
}

/// Once, and again with a chance that grows with the fit.
float times_watched(double fit, CounterRandom& random) {
  const double again = 0.03 + 0.55 * std::min(1.0, fit);
  int times = 1;
  while (times < 20 && random.uniform() < again) ++times;
  return static_cast<float>(times);
}

/// Who watched what how often, by numbers.
struct Viewings {
  std::vector<Index> viewers;
  std::vector<Index> films;
  std::vector<float> times;
};

void watch(Index viewer, const Taste& taste, const Programme& programme, CounterRandom& random,
           Viewings& viewings) {
  struct Candidate {
    double wait;
    Index film;
    double fit;
  };
  // Of exponential waiting times with these rates, the shortest are a draw without replacement.
  std::vector<Candidate> candidates;
  const std::size_t films = programme.films.size();
  for (std::size_t film = 0; film < films; ++film) {
    const double fits = fit(taste, programme, film);
    const double rate = programme.popularity[film] * fits;
    candidates.push_back({-std::log1p(-random.uniform()) / rate, static_cast<Index>(film), fits});
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.wait < b.wait; });
  const double usual = taste.second == taste.genre ? 0.5 * kUsualViewings : kUsualViewings;
  const auto wanted = static_cast<std::size_t>(usual * std::exp(kViewingsSigma * random.normal()));
  candidates.resize(std::clamp(wanted, kFewestViewings, films / 2));
  for (const Candidate& c : candidates) {
    viewings.viewers.push_back(viewer);
    viewings.films.push_back(c.film);
    viewings.times.push_back(times_watched(c.fit, random));
  }
}

std::vector<std::string> titles_of(const std::vector<Film>& films) {
  std::vector<std::string> titles;
  std::transform(films.begin(), films.end(), std::back_inserter(titles),
                 [](const Film& film) { return film.title; });
  return titles;
}

}  // namespace

Catalogue demo_catalogue(std::uint64_t seed) {
  Programme programme = make_programme(seed);
  const std::vector<std::string> names = draw_names(seed);
  std::vector<std::string> tastes;
  Viewings viewings;
  for (std::size_t viewer = 0; viewer < names.size(); ++viewer) {
    CounterRandom random(seed, kStreamViewings, viewer);
    const Taste taste = draw_taste(programme, random);
    tastes.push_back(describe(taste));
    watch(static_cast<Index>(viewer), taste, programme, random, viewings);
  }
  Interactions interactions = make_interactions(
      IndexColumn{viewings.viewers, static_cast<Index>(names.size())},
      IndexColumn{viewings.films, static_cast<Index>(programme.films.size())}, viewings.times);
  interactions.users = IdMap::from_text(names);
  interactions.items = IdMap::from_text(titles_of(programme.films));
  return {std::move(programme.films), std::move(tastes), std::move(interactions)};
}

}  // namespace likewise
