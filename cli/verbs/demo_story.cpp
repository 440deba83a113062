// SPDX-License-Identifier: Apache-2.0
#include "verbs/demo_story.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

namespace likewise::cli {
namespace {

constexpr int kColumn = 46;  // two lists side by side
constexpr int kNarrow = 32;  // three lists side by side
constexpr int kBar = 30;
constexpr Index kShown = 5;
constexpr std::size_t kPeople = 3;
constexpr Offset kLongHistory = 20;

const Film& film_of(const Story& story, Index item) {
  return story.cinema.films[static_cast<std::size_t>(item)];
}

/// Films of a viewer, most watched first.
std::vector<Scored> watched(const Story& story, Index viewer) {
  const CsrView history = story.model().history.view();
  std::vector<Scored> films;
  for (std::size_t i = 0; i < history.row_columns(viewer).size(); ++i) {
    films.push_back({history.row_columns(viewer)[i], history.row_values(viewer)[i]});
  }
  std::stable_sort(films.begin(), films.end(),
                   [](const Scored& a, const Scored& b) { return a.score > b.score; });
  return films;
}

struct Taste {
  Index viewer = 0;
  std::string genre;
  double share = 0;  ///< of the viewer's visits that went to the genre
};

Taste taste_of(const Story& story, Index viewer) {
  std::map<std::string, double> visits;
  double all = 0;
  for (const Scored& film : watched(story, viewer)) {
    visits[film_of(story, film.index).genre] += film.score;
    all += film.score;
  }
  const auto most =
      std::max_element(visits.begin(), visits.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return {viewer, most->first, most->second / all};
}

std::string on_two_columns(std::string_view left, std::string_view right) {
  return fmt::format("    {}  {}\n", fit(left, kColumn), right);
}

/// One line of three cells, each `kNarrow` wide.
template <class Cell>
std::string on_three_columns(std::size_t count, const Cell& cell) {
  std::string line = "    ";
  for (std::size_t c = 0; c < count; ++c) line += cell(c);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string film_text(const Film& film, int width) {
  const bool narrow = width < 80 && film.genre == "science fiction";
  const std::string details = fmt::format(" ({}, {})", narrow ? "sci-fi" : film.genre, film.year);
  return shortened(film.title, width - display_width(details)) + details;
}

std::string heading(const Style& style, std::string_view title, std::string_view text) {
  return fmt::format("\n{} {}\n", style.bold(style.accent(fit(title, 11))), text);
}

std::vector<Index> choose_viewers(const Story& story) {
  const CsrView history = story.model().history.view();
  std::vector<Taste> tastes;
  for (Index u = 0; u < history.rows; ++u) {
    if (history.row_size(u) >= kLongHistory) tastes.push_back(taste_of(story, u));
  }
  std::stable_sort(tastes.begin(), tastes.end(),
                   [](const Taste& a, const Taste& b) { return a.share > b.share; });
  std::vector<Index> chosen;
  std::set<std::string> genres;
  for (const Taste& taste : tastes) {
    if (chosen.size() < kPeople && genres.insert(taste.genre).second)
      chosen.push_back(taste.viewer);
  }
  return chosen;
}

std::vector<Index> favourite_films(const Story& story, const std::vector<Index>& viewers) {
  std::vector<Index> films;
  for (const Index viewer : viewers) films.push_back(watched(story, viewer).front().index);
  return films;
}

std::string tell_recommendations(const Story& story, const std::vector<Index>& viewers) {
  RecommendOptions options;
  options.n = kShown;
  const TopKResult top = story.recommender.recommend(viewers, options);
  std::string text = heading(story.style, "Recommend", "films that they have not watched yet");
  for (std::size_t q = 0; q < viewers.size(); ++q) {
    text += fmt::format("\n    {}, who likes {}\n",
                        story.style.bold(story.model().users.name(viewers[q])),
                        story.cinema.tastes[static_cast<std::size_t>(viewers[q])]);
    text += story.style.dim(on_two_columns("watched most", "likewise recommends"));
    const std::vector<Scored> had = watched(story, viewers[q]);
    for (Index r = 0; r < top.counts[static_cast<Index>(q)]; ++r) {
      const Index past = had[static_cast<std::size_t>(r)].index;
      const Index next = top.items[static_cast<Offset>(q) * top.k + r];
      text += on_two_columns(film_text(film_of(story, past), kColumn),
                             story.style.good(film_text(film_of(story, next), kColumn)));
    }
  }
  return text;
}

std::string tell_similar(const Story& story, const std::vector<Index>& films) {
  const TopKResult like =
      story.recommender.similar(Side::kItems, films, kShown, SimilarityMetric::kCosine);
  std::string text = heading(story.style, "Similar", "because you liked ...") + "\n";
  text += on_three_columns(films.size(), [&](std::size_t f) {
    return story.style.bold(fit(shortened(film_of(story, films[f]).title, kNarrow - 3), kNarrow));
  });
  for (Index r = 0; r < kShown; ++r) {
    text += on_three_columns(films.size(), [&](std::size_t f) {
      if (r >= like.counts[static_cast<Index>(f)]) return fit("", kNarrow);
      const Film& film = film_of(story, like.items[static_cast<Offset>(f) * like.k + r]);
      return fit(fmt::format("{} ({})", shortened(film.title, kNarrow - 10), film.year), kNarrow);
    });
  }
  return text;
}

std::string tell_explanation(const Story& story, Index viewer) {
  RecommendOptions options;
  options.n = 1;
  const TopKResult top = story.recommender.recommend(std::span(&viewer, 1), options);
  if (top.counts[0] == 0) return "";
  const CsrView history = story.model().history.view();
  const auto items = history.row_columns(viewer);
  const auto values = history.row_values(viewer);
  const Explanation why = story.recommender.explain(
      {{items.begin(), items.end()}, {values.begin(), values.end()}}, top.items[0]);
  const std::string name = story.model().users.name(viewer);
  std::string text = heading(
      story.style, "Explain",
      fmt::format("why {}? {} watched", story.style.good(film_of(story, top.items[0]).title),
                  name.substr(0, name.find(' '))));
  for (std::size_t c = 0; c < std::min<std::size_t>(4, why.contributions.size()); ++c) {
    const Contribution& part = why.contributions[c];
    const double share = part.share / std::max(why.score, 1e-12);
    if (share <= 0) break;
    std::string bar;
    for (int b = 0; b < std::lround(kBar * std::min(1.0, share)); ++b) bar += "▇";
    text += fmt::format("    {} {:>3.0f} % {}\n",
                        fit(film_text(film_of(story, part.item), kColumn), kColumn), 100 * share,
                        story.style.accent(bar));
  }
  return text + story.style.dim(
                    "    of the score; the rest comes from everything else that was watched\n");
}

}  // namespace likewise::cli
