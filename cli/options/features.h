// SPDX-License-Identifier: Apache-2.0
/// --item-features, --user-features: what is known of rows beside interactions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "likewise/features.h"
#include "likewise/model.h"
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

/// The tables of the files that were given, by side: users, items.
struct FeatureTables {
  std::optional<FeatureTable> users;
  std::optional<FeatureTable> items;
};

/// --item-features, --user-features, the columns of both, and --feature-regularization.
void add_features_options(CLI::App& app, FeaturesOption& features);
/// Options of features that are not given.
void refuse_idle_features(const CLI::App& app, const FeaturesOption& features);

/// Reads the files and says what was met.
[[nodiscard]] FeatureTables read_features_with_report(const FeaturesOption& features,
                                                      Progress& progress);
/// As add_features(), of both sides; says what was learned.
void add_features_with_report(Model& model, const FeatureTables& tables,
                              const FeaturesOption& features, Progress& progress);

/// For --new-items: items by features. Throws Error(kInvalidArgument) where there are none.
[[nodiscard]] std::vector<Index> new_items_of(const Model& model);

}  // namespace likewise::cli
