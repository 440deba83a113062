// SPDX-License-Identifier: Apache-2.0
#include "options/titles.h"

#include <fmt/format.h>

#include "likewise/query.h"
#include "output/text.h"

namespace likewise::cli {

void add_titles_options(CLI::App& app, TitlesOption& titles, const std::string& description) {
  constexpr const char* kGroup = "Titles";
  add_path(app, "--titles", titles.path, description)->type_name("FILE")->group(kGroup);
  add_list(app, "--titles-columns", titles.how.columns,
           "Which columns of it are item id and title: names or numbers from 1 [by header names, "
           "else the first two]")
      ->type_name("ID,TITLE")
      ->group(kGroup);
}

void refuse_idle_titles(const CLI::App& app, const TitlesOption& titles) {
  refuse_idle(app, "--titles-columns", titles.given(), "--titles");
}

Titles read_titles_with_report(const TitlesOption& option, const IdMap& items, Progress& progress) {
  TitleSummary met;
  Titles titles = read_titles(option.path, items, option.how, &met);
  const std::string file = base_name(option.path);
  const Index count = titles.count();
  std::string line = fmt::format("{}: {} ({}", file, counted(count, "title"), met.format);
  if (met.unknown > 0)
    line += fmt::format("; {} of other items left out", with_commas(met.unknown));
  progress.say(line + ")");
  if (!met.remark.empty()) progress.say("  " + met.remark);
  if (count < items.size()) {
    progress.say(fmt::format("  {} of the model without a title: the id is shown",
                             counted(items.size() - count, "item")));
  }
  return titles;
}

Titles titles_of(const IdMap& items, const Titles& titles, const IdMap& from) {
  std::vector<std::string> by_item;
  for (const Index place : translate(items, from)) by_item.emplace_back(titles.of(place));
  return make_titles(by_item);
}

Titles titles_for(const Model& model, const TitlesOption& option, Progress& progress) {
  if (option.given()) return read_titles_with_report(option, model.items, progress);
  return model.titles.share();
}

std::string title_or_id(const Titles& titles, const IdMap& items, Index item) {
  const std::string_view title = titles.of(item);
  return title.empty() ? items.name(item) : std::string(title);
}

}  // namespace likewise::cli
