// SPDX-License-Identifier: Apache-2.0
#include "options/features.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "output/text.h"

namespace likewise::cli {
namespace {

constexpr const char* kGroup = "Features";

[[nodiscard]] std::optional<FeatureTable> read_side(const FeaturesFile& file, Side side,
                                                    const Model* earlier, Progress& progress) {
  if (!file.given()) return std::nullopt;
  FeatureOptions how = file.how;
  if (earlier != nullptr) how.known = &earlier->features(side).tags;
  FeatureSummary met;
  FeatureTable table = read_features(file.path, side, how, &met);
  progress.say(fmt::format("{}: {} with {} ({}{})", base_name(file.path),
                           counted(table.ids.size(), side == Side::kItems ? "item" : "user"),
                           counted(table.tags.size(), "tag"), met.format,
                           met.without_tags == 0 ? ""
                                                 : fmt::format("; {} without a tag left out",
                                                               counted(met.without_tags, "row"))));
  return table;
}

void say_side(const LearnedFeatures& done, Side side, Progress& progress) {
  const char* one = side == Side::kItems ? "item" : "user";
  const char* recommended = side == Side::kUsers ? ""
                            : done.cold == 1     ? " is recommended"
                                                 : " are recommended";
  std::string line = fmt::format(
      "features: {} learned, regularization {:g}; {} without interactions{} by tags",
      counted(done.tags, "tag"), done.regularization, counted(done.cold, one), recommended);
  if (done.strangers > 0) {
    line += fmt::format("; {} whose tags no {} with interactions has", counted(done.strangers, one),
                        one);
  }
  progress.say(line);
}

CLI::Option* add_file(CLI::App& app, const std::string& option, FeaturesFile& file,
                      const std::string& help, const std::string& example) {
  CLI::Option* added = add_path(app, option, file.path, help)->type_name("FILE");
  add_list(
      app, option + "-columns", file.how.columns,
      fmt::format("Which columns of it are the id and the tags, as {}: names or numbers from 1 "
                  "[by header names, else the first, and all others]",
                  example))
      ->type_name("ID,TAGS")
      ->group(kGroup);
  return added;
}

void add_side(CLI::App& app, const std::string& side, FeaturesFile& file,
              const std::string& example) {
  add_file(app, "--" + side + "-features", file,
           fmt::format("Tags of {}s: a table of ids and tags, categories or numbers. {}s without "
                       "interactions join by them",
                       side, side == "item" ? "Item" : "User"),
           example)
      ->group(kGroup);
}

}  // namespace

void add_features_options(CLI::App& app, FeaturesOption& features) {
  add_side(app, "item", features.items, "movieId,genres");
  add_side(app, "user", features.users, "userId,occupation");
  add_number(app, "--feature-regularization", features.learning.regularization,
             "Of the regression of factors on tags [from 0.01 to 300 the one that best predicts "
             "a hidden fifth]")
      ->group(kGroup);
}

CLI::Option* add_visitor_features(CLI::App& app, FeaturesFile& file) {
  return add_file(app, "--user-features", file,
                  "Users who were not trained, by their features alone: a table as for train",
                  "userId,occupation");
}

void refuse_idle_features(const CLI::App& app, const FeaturesOption& features) {
  refuse_idle(app, "--item-features-columns", features.items.given(), "--item-features");
  refuse_idle(app, "--user-features-columns", features.users.given(), "--user-features");
  refuse_idle(app, "--feature-regularization", features.given(),
              "--item-features or --user-features");
}

void refuse_features_of_auto(const CLI::App& app) {
  for (const char* option : {"--item-features", "--user-features"}) {
    refuse_idle(app, option, false,
                "--algorithm als or another with factors; auto may choose one without");
  }
}

std::vector<std::string> words_of(const FeaturesOption& features) {
  std::vector<std::string> words;
  for (const Side side : {Side::kItems, Side::kUsers}) {
    const FeaturesFile& file = features.of(side);
    if (!file.given()) continue;
    const std::string option = fmt::format("--{}-features", side == Side::kItems ? "item" : "user");
    words.insert(words.end(), {option, file_word(file.path)});
    if (file.how.columns.empty()) continue;
    words.insert(words.end(),
                 {option + "-columns", fmt::format("{}", fmt::join(file.how.columns, ","))});
  }
  if (features.learning.regularization) {
    words.insert(words.end(), {"--feature-regularization",
                               fmt::format("{}", *features.learning.regularization)});
  }
  return words;
}

FeatureTables read_features_with_report(const FeaturesOption& features, Progress& progress,
                                        const Model* earlier) {
  if (features.given()) progress.stage("read features");
  FeatureTables tables{read_side(features.users, Side::kUsers, earlier, progress),
                       read_side(features.items, Side::kItems, earlier, progress),
                       features.learning};
  for (const auto& table : {&tables.users, &tables.items}) {
    if (!*table) continue;
    for (const std::string& column : (*table)->unknown_columns) {
      progress.say(fmt::format("the model had no feature '{}': it is learned as a new one",
                               printable(column)));
    }
  }
  return tables;
}

Visitors read_visitor_features(const Model& model, const FeaturesFile& file, Progress& progress) {
  progress.stage("read features");
  const FeatureTable table = read_side(file, Side::kUsers, &model, progress).value();
  Visitors visitors = visitors_of(model, table, UnknownIds::kLeaveOut);
  if (visitors.rows.empty()) return visitors_of(model, table);  // says why
  if (visitors.strangers > 0) {
    progress.say(fmt::format("{}: {} without a tag that the model has learned, left out",
                             base_name(file.path), counted(visitors.strangers, "user")));
  }
  return visitors;
}

void say_learned(const LearnedTables& learned, Progress& progress) {
  if (learned.users) say_side(*learned.users, Side::kUsers, progress);
  if (learned.items) say_side(*learned.items, Side::kItems, progress);
}

void add_features_with_report(Model& model, const FeatureTables& tables, Progress& progress) {
  if (!tables.empty()) progress.stage("features");
  say_learned(add_features(model, tables, Progress::stop_control()), progress);
}

std::vector<Index> new_items_of(const Model& model) {
  std::vector<Index> items = rows_by_features(model, Side::kItems);
  if (items.empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                "--new-items would leave nothing: the model has no items that nobody has touched; "
                "train it with --item-features that name some");
  }
  return items;
}

}  // namespace likewise::cli
