// SPDX-License-Identifier: Apache-2.0
/// The journal of a search: a text file with a JSON object on each line. The first says what is
/// searched, each of the others what a training came to; the last one, of a search that is over,
/// says so. A line is written whole once its training is done; what a kill left of one is cut off.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "likewise/parameters.h"

namespace likewise {

/// What a training and its validation came to.
struct TrainingOutcome {
  std::optional<double> value{};  ///< the best
  int iterations = 0;
  int best_iteration = 0;
  double seconds = 0.0;
  std::string stop_reason{};
  std::string failure{};
};

class Journal {
 public:
  /// Without a path: remembers nothing. As check_journal(), and Error(kInvalidArgument) naming what
  /// differs where the journal to go on with is of another search.
  Journal(std::string path, bool resume, const nlohmann::ordered_json& search);
  Journal(const Journal&) = delete;  // the descriptor has one owner
  Journal& operator=(const Journal&) = delete;

  /// What the journal held of a training with these parameters, validated on the part of this
  /// number; null: nothing.
  [[nodiscard]] const TrainingOutcome* find(const TrainingParams& params, int part) const;
  void add(const TrainingParams& params, int part, const TrainingOutcome& outcome);
  void end(const std::string& reason);

 private:
  void write(const nlohmann::ordered_json& line);

  std::string path_;
  struct Descriptor {
    int number = -1;
    ~Descriptor();
  };
  Descriptor file_;
  std::map<std::string, TrainingOutcome> earlier_;
};

}  // namespace likewise
