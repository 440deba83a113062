// SPDX-License-Identifier: Apache-2.0
/// The journal of a search: a text file with a JSON object on each line. The first says what is
/// searched, each of the others what a training came to; the last one, of a search that is over,
/// says so. A line is written whole once its training is done; what a kill left of one is cut off.
/// One search at a time writes it: the file is locked until that search or its process ends.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "likewise/parameters.h"

namespace likewise {

/// What a training and its validation came to.
struct TrainingOutcome {
  std::optional<double> value{};  ///< the best
  int iterations = 0;
  int best_iteration = 0;
  double seconds = 0.0;
  double training_seconds = 0.0;  ///< of these: up to the best iteration, without validation
  std::string stop_reason{};
  std::string failure{};

  /// Of the data, which no parameters of the algorithm change.
  [[nodiscard]] bool is_refusal() const { return stop_reason == "refused"; }
  /// Where the time for it was over.
  [[nodiscard]] bool is_cut() const { return stop_reason == "stopped"; }
};

/// Closed with its owner.
struct FileDescriptor {
  explicit FileDescriptor(int number_ = -1) : number(number_) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number(std::exchange(other.number, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~FileDescriptor();
  int number = -1;
};

class Journal {
 public:
  /// Without a path: remembers nothing. As check_journal(), and Error(kInvalidArgument) naming what
  /// differs where the journal to go on with is of another search. Lines of it that are broken are
  /// as if they were not there.
  Journal(std::string path, bool resume, const nlohmann::ordered_json& search);
  Journal(const Journal&) = delete;  // the descriptor has one owner
  Journal& operator=(const Journal&) = delete;

  /// What the journal held of a training with these parameters, validated on the part of this
  /// number; null: nothing.
  [[nodiscard]] const TrainingOutcome* find(const TrainingParams& params, int part) const;
  void add(const TrainingParams& params, int part, const TrainingOutcome& outcome);
  void end(const std::string& reason);
  /// The numbers of the lines that are broken.
  [[nodiscard]] const std::vector<std::size_t>& broken_lines() const { return broken_lines_; }

 private:
  void write(const nlohmann::ordered_json& line);

  std::string path_;
  FileDescriptor file_;
  std::vector<std::size_t> broken_lines_;
  std::map<std::string, TrainingOutcome> earlier_;
};

/// On how many users the search was measured that goes on with this journal; nothing where there is
/// none to go on with. Same errors as check_journal().
[[nodiscard]] std::optional<Index> earlier_measured_users(const std::string& path, bool resume);

}  // namespace likewise
