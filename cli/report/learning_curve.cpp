// SPDX-License-Identifier: Apache-2.0
#include "report/learning_curve.h"

#include <optional>

#include <fmt/format.h>

#include "report/page.h"
#include "report/svg.h"

namespace likewise::cli {
namespace {

[[nodiscard]] std::optional<double> value_of(const Iteration& one, Measure measure) {
  return measure == Measure::kObjective ? one.objective : one.validation;
}

}  // namespace

std::string curve_sections(std::string_view title, std::string_view note,
                           const std::vector<LearningCurve>& curves, Measure measure, int kept) {
  const char* name = measure == Measure::kObjective ? "objective" : "validation";
  LineChart by_iteration{"iteration", name, {}};
  LineChart by_seconds{"seconds of training", name, {}};
  by_seconds.x_from_zero = true;
  for (const LearningCurve& curve : curves) {
    Series of_iterations{curve.name, {}, false, curve.colour};
    Series of_seconds = of_iterations;
    const std::vector<double> elapsed = elapsed_seconds(curve.iterations);
    for (std::size_t i = 0; i < elapsed.size(); ++i) {
      const Iteration& one = curve.iterations[i];
      const std::optional<double> value = value_of(one, measure);
      if (!value) continue;
      of_iterations.points.emplace_back(one.iteration, *value);
      of_seconds.points.emplace_back(elapsed[i], *value);
      if (one.iteration == kept) by_seconds.marked_x = elapsed[i];
    }
    by_iteration.series.push_back(std::move(of_iterations));
    by_seconds.series.push_back(std::move(of_seconds));
  }
  by_iteration.marked_x = kept;
  by_iteration.mark_label = by_seconds.mark_label = fmt::format("kept: {}", kept);
  return section(title, note, draw(by_iteration)) +
         section(fmt::format("{} against seconds", title),
                 "Seconds of training alone, without validation.", draw(by_seconds));
}

}  // namespace likewise::cli
