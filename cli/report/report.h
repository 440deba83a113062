// SPDX-License-Identifier: Apache-2.0
/// The training report, a page (report/page.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "likewise/device.h"
#include "likewise/model.h"
#include "output/progress.h"
#include "report/page.h"

namespace likewise::cli {

/// What somebody had and what the model would give them.
struct ReportSample {
  std::string user;
  std::vector<std::string> had;
  std::vector<std::string> recommended;
};

struct Report {
  std::string title;
  std::string subtitle;
  Facts numbers;  ///< the large figures on top
  std::vector<Iteration> iterations;
  int best_iteration = 0;
  bool validated = false;
  std::vector<double> user_counts;  ///< interactions per user, largest first
  std::vector<double> item_counts;  ///< interactions per item, largest first
  std::vector<Bar> stages;
  std::vector<Bar> top_items;
  std::vector<ReportSample> samples;
  std::vector<std::vector<std::string>> comparison;  ///< header and rows; may be empty
  Facts parameters;
};

/// Items are called by the model's titles.
[[nodiscard]] Report describe_training(const std::shared_ptr<const Model>& model,
                                       const Device& device, const std::string& source,
                                       const std::vector<StageTime>& stages);

/// The page as HTML. Every text of the report is escaped.
[[nodiscard]] std::string render(const Report& report);

/// Whole or not there, like every output file.
void write_report(const Report& report, const std::string& path);

}  // namespace likewise::cli
