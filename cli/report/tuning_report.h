// SPDX-License-Identifier: Apache-2.0
/// What `likewise autotune` shows of its measurements: a table, rows of a file, a plot.
#pragma once

#include <string>
#include <vector>

#include "likewise/autotune.h"

namespace likewise::cli {

/// All times of one kind of training.
struct TunedWork {
  AlsParams params;
  TuningResult result;

  [[nodiscard]] const TuningTime& built_in() const { return result.times.front(); }
  [[nodiscard]] const TuningTime& best() const { return result.times[result.best]; }
};

struct TuningReport {
  Index users = 0;  ///< of the data that was measured on
  Index items = 0;
  Offset interactions = 0;
  std::vector<TunedWork> works;

  [[nodiscard]] std::vector<TunedAls> winners() const;
  /// A line per kind of training: its built-in and its best tuning.
  [[nodiscard]] std::string summary() const;
  /// A row per measurement.
  void write_rows(const std::string& path) const;
  /// Every measurement and the best ones against the factors, a pair of charts for each feedback,
  /// precision and solver.
  void write_plot(const std::string& path, const std::string& title) const;

  /// Operations of an iteration with Gram matrices and Cholesky, 2 N f^2 + (m + n) f^3 / 3, over
  /// the seconds that it took: how HPC-ALS counts.
  [[nodiscard]] double gflops(const AlsParams& params, double seconds) const;
};

}  // namespace likewise::cli
