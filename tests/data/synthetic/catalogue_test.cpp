// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/synthetic.h"

namespace likewise {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Le;

const Catalogue& demo() {
  static const Catalogue catalogue = demo_catalogue();
  return catalogue;
}

TEST(Catalogue, HasTheSizeOfADemo) {
  const Catalogue& catalogue = demo();
  const CsrMatrix& m = catalogue.interactions.by_user;
  EXPECT_NO_THROW(validate(m.view(), "demo"));
  EXPECT_THAT(catalogue.films.size(), AllOf(Ge(400U), Le(600U)));
  EXPECT_THAT(m.rows, AllOf(Ge(2000), Le(3000)));
  EXPECT_THAT(m.nnz(), AllOf(Ge(90'000), Le(110'000)));
  EXPECT_EQ(static_cast<std::size_t>(m.cols), catalogue.films.size());
  EXPECT_EQ(static_cast<std::size_t>(m.rows), catalogue.tastes.size());
}

TEST(Catalogue, FilmsStandBesideTheirIds) {
  const Catalogue& catalogue = demo();
  std::map<std::string, std::set<int>> decades;
  for (Index item = 0; item < catalogue.interactions.items.size(); ++item) {
    const Film& film = catalogue.films[static_cast<std::size_t>(item)];
    EXPECT_EQ(catalogue.interactions.items.name(item), film.title);
    EXPECT_EQ(film.title.find_first_of("{}"), std::string::npos) << film.title;
    EXPECT_THAT(film.year, AllOf(Ge(1950), Le(2025)));
    decades[film.genre].insert(film.year / 10);
  }
  EXPECT_THAT(decades.size(), AllOf(Ge(8U), Le(10U)));
  for (const auto& [genre, of_genre] : decades) EXPECT_EQ(of_genre.size(), 8U) << genre;
}

TEST(Catalogue, EveryFilmIsWatchedAndSomeFarMore) {
  const CsrMatrix& m = demo().interactions.by_user;
  std::vector<Offset> counts(static_cast<std::size_t>(m.cols));
  for (const Index film : m.columns) ++counts[static_cast<std::size_t>(film)];
  std::ranges::sort(counts);
  EXPECT_GE(counts.front(), 5);
  EXPECT_GT(counts.back(), 5 * counts[counts.size() / 2] / 2);
  for (const float times : m.values) {
    EXPECT_TRUE(times >= 1 && times <= 20 && times == std::floor(times));
  }
}

TEST(Catalogue, TheSeedDrawsTheViewersNotTheFilms) {
  const Catalogue again = demo_catalogue(42);
  const Catalogue other = demo_catalogue(43);
  EXPECT_TRUE(
      std::ranges::equal(demo().interactions.by_user.columns, again.interactions.by_user.columns));
  EXPECT_EQ(demo().tastes, again.tastes);
  EXPECT_FALSE(
      std::ranges::equal(demo().interactions.by_user.columns, other.interactions.by_user.columns));
  ASSERT_EQ(demo().films.size(), other.films.size());
  for (std::size_t i = 0; i < other.films.size(); ++i) {
    EXPECT_EQ(demo().films[i].title, other.films[i].title);
  }
}

// Nearest films by the cosine of their audiences, without any model: a fair floor for one.
TEST(Catalogue, NeighboursShareGenreAndDecade) {
  const std::vector<Film>& films = demo().films;
  const CsrMatrix by_film = transpose(demo().interactions.by_user.view());
  const CsrView m = by_film.view();
  const auto norm = [&](Index film) { return std::sqrt(static_cast<double>(m.row_size(film))); };
  int neighbours = 0, same_genre = 0, near_in_time = 0;
  for (Index film = 0; film < m.rows; film += 7) {
    std::vector<std::pair<double, Index>> ranked;
    for (Index other = 0; other < m.rows; ++other) {
      if (other == film) continue;
      std::vector<Index> both;
      std::ranges::set_intersection(m.row_columns(film), m.row_columns(other),
                                    std::back_inserter(both));
      ranked.emplace_back(-static_cast<double>(both.size()) / (norm(film) * norm(other)), other);
    }
    std::ranges::partial_sort(ranked, ranked.begin() + 5);
    const Film& subject = films[static_cast<std::size_t>(film)];
    for (int i = 0; i < 5; ++i) {
      const Film& found =
          films[static_cast<std::size_t>(ranked[static_cast<std::size_t>(i)].second)];
      ++neighbours;
      same_genre += found.genre == subject.genre;
      near_in_time += std::abs(found.year / 10 - subject.year / 10) <= 1;
    }
  }
  EXPECT_GT(same_genre, 0.85 * neighbours);
  EXPECT_GT(near_in_time, 0.85 * neighbours);
}

TEST(Catalogue, GenerateKnowsIt) {
  const Interactions data = generate(parse_shape("demo"));
  EXPECT_EQ(data.by_user.nnz(), demo().interactions.by_user.nnz());
  EXPECT_EQ(data.items.name(0), demo().films[0].title);
}

}  // namespace
}  // namespace likewise
