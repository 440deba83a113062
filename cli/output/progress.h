// SPDX-License-Identifier: Apache-2.0
/// What a verb tells people while it works, on standard error: a live bar on a terminal, a few
/// plain lines anywhere else, nothing when quiet. Also keeps the time of each stage.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "likewise/control.h"
#include "likewise/iteration.h"
#include "output/text.h"

namespace likewise::cli {

struct StageTime {
  std::string name;
  double seconds = 0.0;
};

class Progress {
 public:
  explicit Progress(bool quiet, bool verbose = false);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Ends the stage before it and starts another one.
  void stage(std::string name);
  /// Ends the last stage and returns all of them.
  const std::vector<StageTime>& finish();
  /// A line with the times of the stages that are over: "time: read 4 ms, train 1.2 s".
  void say_times();

  /// A line for people. Left out when quiet.
  void say(std::string_view line);
  /// Lines for those who asked for more.
  void detail(std::string_view lines);
  /// A line that matters even when quiet.
  void warn(std::string_view line);

  /// Stops on SIGINT and SIGTERM, and shows this work's reports. Refers to this object.
  [[nodiscard]] RunControl control();
  /// Only stops: for work whose progress is shown another way.
  [[nodiscard]] static RunControl stop_control();

  void show(const ProgressUpdate& update);
  /// The newest iteration of a training; each goes over so many rows.
  void show(const TrainingState& state, Offset rows);

 private:
  using Clock = std::chrono::steady_clock;
  void draw(const std::string& line);
  void clear();
  [[nodiscard]] std::string bar(std::string_view label, Offset done, Offset total) const;

  bool quiet_;
  bool verbose_;
  bool live_;
  bool drawn_ = false;
  Style style_;
  std::vector<StageTime> stages_;
  Clock::time_point stage_start_;
  Clock::time_point last_line_;
  double train_seconds_ = 0.0;
  int train_iterations_ = 0;
};

}  // namespace likewise::cli
