// SPDX-License-Identifier: Apache-2.0
/// Several trainings side by side: what `likewise compare` shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "likewise/evaluation.h"
#include "report/run_file.h"

namespace likewise::cli {

struct Comparison {
  std::vector<TrainedRun> runs;  ///< at least one, up to kMostRuns
  std::optional<MetricTarget> target;

  /// As many as a chart has different lines for.
  static constexpr std::size_t kMostRuns = 16;

  /// Throws Error(kInvalidArgument) naming both where two runs have the same name or different
  /// metrics, or a run another metric than the target.
  void check() const;
  /// Which two runs are of data of different sizes; empty: none.
  [[nodiscard]] std::string different_data() const;

  /// Header and rows, a row for each run.
  [[nodiscard]] std::vector<std::vector<std::string>> table() const;
  [[nodiscard]] std::string as_text() const;
  [[nodiscard]] std::string as_json() const;
  [[nodiscard]] std::string as_page() const;
};

}  // namespace likewise::cli
