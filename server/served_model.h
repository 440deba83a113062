// SPDX-License-Identifier: Apache-2.0
/// `ServedModel`: a model and all that requests need of it. Immutable; a request keeps the one it
/// began with, whatever is swapped meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "likewise/query.h"
#include "likewise/title_search.h"
#include "server/events/live.h"
#include "server/file_stamp.h"

namespace likewise::server {

/// What a model answers, as /v1/model says it: "recommend", "visitors", "similar_items", ...
struct Abilities {
  bool recommend = false;
  bool visitors = false;  ///< recommend for users who were not trained
  bool similar_items = false;
  bool similar_users = false;
  bool predict = false;
  bool explain = false;

  [[nodiscard]] std::vector<std::string> names() const;
};

/// The ratings that a model was trained on, from the smallest to the largest.
struct RatingRange {
  float lowest = 0.0F;
  float highest = 0.0F;
};

/// The file that a model is from.
struct ModelFile {
  std::string name{};                  ///< without its folder
  std::string fingerprint = "memory";  ///< the first half of its checksum
};

class ServedModel {
 public:
  /// Asks the model a question of each kind once: that says what it can, and makes what the first
  /// question makes, but for similar users: their table is made when somebody asks. Throws Error
  /// where a device lacks a job or an answer cannot be computed.
  ServedModel(std::shared_ptr<const Model> model, Device device, Titles titles = {},
              ModelFile file = {});

  [[nodiscard]] const Queries& queries() const { return queries_; }
  [[nodiscard]] const Model& model() const { return queries_.model(); }
  [[nodiscard]] const Abilities& abilities() const { return abilities_; }
  [[nodiscard]] const TitleSearch& titles() const { return titles_; }
  /// Nothing where the feedback is implicit, or the model keeps no ratings.
  [[nodiscard]] const std::optional<RatingRange>& ratings() const { return ratings_; }
  [[nodiscard]] const std::string& fingerprint() const { return file_.fingerprint; }
  [[nodiscard]] const std::string& file() const { return file_.name; }
  [[nodiscard]] const ModelMark& mark() const { return mark_; }
  [[nodiscard]] const std::string& loaded() const { return loaded_; }  ///< UTC, ISO 8601

 private:
  Queries queries_;
  TitleSearch titles_;
  Abilities abilities_;
  std::optional<RatingRange> ratings_;
  ModelFile file_;
  ModelMark mark_;  ///< what it has learned of events
  std::string loaded_;
};

/// Where a model comes from, each time it is loaded.
struct ModelSource {
  std::string path;
  std::string titles_path{};  ///< empty: the model's own
  TitleOptions titles_how{};
  Device device;
};

/// A model, and the stamp of the file that it is from.
struct LoadedModel {
  std::shared_ptr<const ServedModel> model;
  FileStamp stamp;
};
/// Loads the whole of it, and throws Error where anything is wrong with it, or where the file
/// changed meanwhile.
[[nodiscard]] LoadedModel load_served(const ModelSource& source);

}  // namespace likewise::server
