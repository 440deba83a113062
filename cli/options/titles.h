// SPDX-License-Identifier: Apache-2.0
/// --titles: items by what they are called.
#pragma once

#include <string>

#include "likewise/model.h"
#include "options/options.h"

namespace likewise::cli {

struct TitlesOption {
  std::string path;
  TitleOptions how;

  [[nodiscard]] bool given() const { return !path.empty(); }
};

/// --titles and --titles-columns.
void add_titles_options(CLI::App& app, TitlesOption& titles, const std::string& description);
/// --titles-columns without --titles.
void refuse_idle_titles(const CLI::App& app, const TitlesOption& titles);

/// Reads the file and says what was met.
[[nodiscard]] Titles read_titles_with_report(const TitlesOption& titles, const IdMap& items,
                                             Progress& progress);
/// Of `items`, all of which are among those that `titles` are of.
[[nodiscard]] Titles titles_of(const IdMap& items, const Titles& titles, const IdMap& from);
/// Those of the file where one is given, else the model's own; empty: there are none.
[[nodiscard]] Titles titles_for(const Model& model, const TitlesOption& titles, Progress& progress);

/// The title, or the id of an item that has none.
[[nodiscard]] std::string title_or_id(const Titles& titles, const IdMap& items, Index item);

}  // namespace likewise::cli
