// SPDX-License-Identifier: Apache-2.0
/// What the demo shows of a trained model: viewers with their recommendations, films that are
/// alike, one explanation. Every function returns text for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "likewise/recommender.h"
#include "likewise/synthetic.h"
#include "output/text.h"

namespace likewise::cli {

/// The cinema and what was learned from it; borrowed.
struct Story {
  const Catalogue& cinema;
  const Recommender& recommender;
  Style style;

  [[nodiscard]] const Model& model() const { return recommender.model(); }
};

/// "Title (genre, year)", the title shortened so that all of it fits into `width`.
[[nodiscard]] std::string film_text(const Film& film, int width = 1000);

/// "Data      2,400 viewers": a title in the margin and a line next to it.
[[nodiscard]] std::string heading(const Style& style, std::string_view title,
                                  std::string_view text);

/// A few viewers with a long history and one clear favourite genre, all different: their rows are
/// the easiest to judge by eye.
[[nodiscard]] std::vector<Index> choose_viewers(const Story& story);
/// The film that each of the viewers watched most.
[[nodiscard]] std::vector<Index> favourite_films(const Story& story,
                                                 const std::vector<Index>& viewers);

[[nodiscard]] std::string tell_recommendations(const Story& story,
                                               const std::vector<Index>& viewers);
[[nodiscard]] std::string tell_similar(const Story& story, const std::vector<Index>& films);
[[nodiscard]] std::string tell_explanation(const Story& story, Index viewer);

}  // namespace likewise::cli
