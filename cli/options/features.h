// SPDX-License-Identifier: Apache-2.0
/// --item-features, --user-features: what is known of rows beside interactions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "likewise/features.h"
#include "likewise/model.h"
#include "likewise/query.h"
#include "options/options.h"
#include "options/paths.h"

namespace likewise::cli {

/// A file of one side, and how it is read.
struct FeaturesFile {
  std::string path;
  FeatureOptions how;

  [[nodiscard]] bool given() const { return !path.empty(); }
};

struct FeaturesOption {
  FeaturesFile items;
  FeaturesFile users;
  FeatureLearning learning;

  [[nodiscard]] bool given() const { return items.given() || users.given(); }
  [[nodiscard]] const FeaturesFile& of(Side side) const {
    return side == Side::kItems ? items : users;
  }
};

/// --item-features, --user-features, the columns of both, and --feature-regularization.
void add_features_options(CLI::App& app, FeaturesOption& features);
/// --user-features and its columns, of users who were not trained. Returns the first.
CLI::Option* add_visitor_features(CLI::App& app, FeaturesFile& file);
/// Options of features that are not given.
void refuse_idle_features(const CLI::App& app, const FeaturesOption& features);
/// Files of features where the data chooses the algorithm.
void refuse_features_of_auto(const CLI::App& app);
/// The options as they were given, to be typed again; each after a blank.
[[nodiscard]] std::vector<std::string> words_of(const FeaturesOption& features);

/// Reads the files and says what was met. `earlier`: a model whose tags they are to join; or null.
[[nodiscard]] FeatureTables read_features_with_report(const FeaturesOption& features,
                                                      Progress& progress,
                                                      const Model* earlier = nullptr);
/// Users by their features. Says how many are left out, none of whose features the model knows.
[[nodiscard]] Visitors read_visitor_features(const Model& model, const FeaturesFile& file,
                                             Progress& progress);
/// As add_features(); says what was learned.
void add_features_with_report(Model& model, const FeatureTables& tables, Progress& progress);
void say_learned(const LearnedTables& learned, Progress& progress);

/// For --new-items: items by features. Throws Error(kInvalidArgument) where there are none.
[[nodiscard]] std::vector<Index> new_items_of(const Model& model);

}  // namespace likewise::cli
