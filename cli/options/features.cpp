// SPDX-License-Identifier: Apache-2.0
#include "options/features.h"

#include <fmt/format.h>

#include "output/text.h"

namespace likewise::cli {
namespace {

[[nodiscard]] std::optional<FeatureTable> read_side(const FeaturesFile& file, Side side,
                                                    Progress& progress) {
  if (!file.given()) return std::nullopt;
  FeatureSummary met;
  FeatureTable table = read_features(file.path, side, file.how, &met);
  progress.say(fmt::format("{}: {} with {} ({}{})", base_name(file.path),
                           counted(table.ids.size(), side == Side::kItems ? "item" : "user"),
                           counted(table.tags.size(), "tag"), met.format,
                           met.without_tags == 0 ? ""
                                                 : fmt::format("; {} without a tag left out",
                                                               counted(met.without_tags, "row"))));
  return table;
}

void add_side(Model& model, Side side, const FeatureTable& table, const FeaturesOption& features,
              Progress& progress) {
  const LearnedFeatures done =
      add_features(model, side, table, features.learning, Progress::stop_control());
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

void add_file(CLI::App& app, const std::string& side, FeaturesFile& file,
              const std::string& example) {
  constexpr const char* kGroup = "Features";
  const std::string option = "--" + side + "-features";
  add_path(app, option, file.path,
           fmt::format("Tags of {}s: a table of ids and tags, categories or numbers. {}s without "
                       "interactions join by them",
                       side, side == "item" ? "Item" : "User"))
      ->type_name("FILE")
      ->group(kGroup);
  add_list(
      app, option + "-columns", file.how.columns,
      fmt::format("Which columns of it are the id and the tags, as {}: names or numbers from 1 "
                  "[by header names, else the first, and all others]",
                  example))
      ->type_name("ID,TAGS")
      ->group(kGroup);
}

}  // namespace

void add_features_options(CLI::App& app, FeaturesOption& features) {
  add_file(app, "item", features.items, "movieId,genres");
  add_file(app, "user", features.users, "userId,occupation");
  add_number(app, "--feature-regularization", features.learning.regularization,
             "Of the regression of factors on tags [the one of 0.01 to 300 that predicts a hidden "
             "fifth best]")
      ->group("Features");
}

void refuse_idle_features(const CLI::App& app, const FeaturesOption& features) {
  refuse_idle(app, "--item-features-columns", features.items.given(), "--item-features");
  refuse_idle(app, "--user-features-columns", features.users.given(), "--user-features");
  refuse_idle(app, "--feature-regularization", features.given(),
              "--item-features or --user-features");
}

FeatureTables read_features_with_report(const FeaturesOption& features, Progress& progress) {
  if (features.given()) progress.stage("read features");
  return {read_side(features.users, Side::kUsers, progress),
          read_side(features.items, Side::kItems, progress)};
}

void add_features_with_report(Model& model, const FeatureTables& tables,
                              const FeaturesOption& features, Progress& progress) {
  if (features.given()) progress.stage("features");
  if (tables.users) add_side(model, Side::kUsers, *tables.users, features, progress);
  if (tables.items) add_side(model, Side::kItems, *tables.items, features, progress);
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
