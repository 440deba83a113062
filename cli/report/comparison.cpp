// SPDX-License-Identifier: Apache-2.0
#include "report/comparison.h"

#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "likewise/error.h"
#include "options/targets.h"
#include "output/text.h"
#include "report/learning_curve.h"
#include "report/page.h"

namespace likewise::cli {
namespace {

[[noreturn]] void fail(const std::string& why) { throw Error(ErrorKind::kInvalidArgument, why); }

[[nodiscard]] bool more_is_better(const TrainedRun& run) { return higher_is_better(run.metric); }

[[nodiscard]] const Iteration& best_of(const TrainedRun& run) {
  return *best_by_validation(run.iterations, more_is_better(run));
}

[[nodiscard]] double seconds_of(const TrainedRun& run) {
  return elapsed_seconds(run.iterations).back();
}

[[nodiscard]] std::string missed(const TrainedRun& run) {
  return fmt::format("not reached in {}", counted(std::ssize(run.iterations), "iteration"));
}

[[nodiscard]] std::string reached_cell(const MetricTarget& target, const TrainedRun& run) {
  const Reached reached = reached_by(target, run.iterations);
  if (reached.iteration == 0) return fmt::format("- ({})", missed(run));
  return fmt::format("{:.4g} (iteration {})", reached.elapsed, reached.iteration);
}

/// The cards of the objective, for each kind of run of which there are several.
[[nodiscard]] std::string objective_cards(const std::vector<TrainedRun>& runs) {
  std::map<std::pair<std::string, std::string>, std::vector<LearningCurve>> kinds;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    kinds[{runs[r].algorithm, runs[r].feedback}].push_back(
        {runs[r].name, runs[r].iterations, r + 1});
  }
  std::string cards;
  for (const auto& [kind, curves] : kinds) {
    if (curves.size() < 2) continue;
    cards += curve_sections(
        fmt::format("Objective of {}, {}", kind.first, kind.second),
        "What training minimises. It depends on parameters such as regularization: compare runs "
        "that share them.",
        curves, Measure::kObjective);
  }
  return cards;
}

}  // namespace

void Comparison::check() const {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const TrainedRun& run = runs[i];
    if (target && run.metric != target->metric.key) {
      fail(fmt::format("--target {}={}: {} is validated by {}; name a value of that",
                       target->metric.key, target->value, run.file, run.metric));
    }
    if (run.metric != runs[0].metric) {
      fail(fmt::format("{} is validated by {}, {} by {}: compare runs of the same metric",
                       runs[0].file, runs[0].metric, run.file, run.metric));
    }
    if (run.among != runs[0].among) {
      const auto items = [](const TrainedRun& one) {
        return one.among.empty() ? std::string("all items") : one.among;
      };
      fail(
          fmt::format("the validation of {} ranks {}, that of {} {}: compare runs that rank the "
                      "same",
                      runs[0].file, items(runs[0]), run.file, items(run)));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (run.name != runs[j].name) continue;
      fail(fmt::format("two runs are called '{}' ({} and {}): call one NAME=FILE",
                       printable(run.name), runs[j].file, run.file));
    }
  }
}

std::string Comparison::different_data() const {
  const auto sizes = [](const TrainedRun& run) {
    return fmt::format("{} of {} by {}", counted(run.interactions, "interaction"),
                       counted(run.users, "user"), counted(run.items, "item"));
  };
  for (const TrainedRun& run : runs) {
    if (sizes(run) == sizes(runs[0])) continue;
    return fmt::format("not trained on the same data: {} has {}; {} has {}", runs[0].name,
                       sizes(runs[0]), run.name, sizes(run));
  }
  return {};
}

std::vector<std::vector<std::string>> Comparison::table() const {
  std::vector<std::vector<std::string>> rows{{"run", "algorithm", "device", "iterations", "seconds",
                                              fmt::format("best {}", runs[0].metric)}};
  if (target) {
    rows[0].push_back(fmt::format("seconds to {}={}", target->metric.key, target->value));
  }
  for (const TrainedRun& run : runs) {
    const Iteration& best = best_of(run);
    rows.push_back({printable(run.name),
                    printable(fmt::format("{}, {}", run.algorithm, run.feedback)),
                    printable(run.device), with_commas(std::ssize(run.iterations)),
                    fmt::format("{:.4g}", seconds_of(run)),
                    fmt::format("{:.5g} (iteration {})", *best.validation, best.iteration)});
    if (target) rows.back().push_back(reached_cell(*target, run));
  }
  return rows;
}

std::string Comparison::as_text() const {
  const std::vector<std::vector<std::string>> rows = table();
  TextTable text(rows[0]);
  for (std::size_t r = 1; r < rows.size(); ++r) text.add(rows[r]);
  return text.text(0);
}

std::string Comparison::as_json() const {
  using Json = nlohmann::ordered_json;
  Json out;
  out["metric"] = runs[0].metric;
  out["higher_is_better"] = more_is_better(runs[0]);
  if (target) out["target"] = target->value;
  out["runs"] = Json::array();
  for (const TrainedRun& run : runs) {
    const Iteration& best = best_of(run);
    Json one = {{"run", run.name},
                {"file", run.file},
                {"algorithm", run.algorithm},
                {"feedback", run.feedback},
                {"device", run.device},
                {"iterations", run.iterations.size()},
                {"seconds", seconds_of(run)},
                {"best", *best.validation},
                {"best_iteration", best.iteration}};
    if (target) {
      const Reached reached = reached_by(*target, run.iterations);
      const bool never = reached.iteration == 0;
      one["target_iteration"] = never ? Json(nullptr) : Json(reached.iteration);
      one["target_elapsed"] = never ? Json(nullptr) : Json(reached.elapsed);
      if (never) one["target_missed"] = missed(run);
    }
    out["runs"].push_back(std::move(one));
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string Comparison::as_page() const {
  const std::vector<std::vector<std::string>> rows = table();
  PageTable listed;
  for (std::size_t c = 0; c < rows[0].size(); ++c) {
    listed.columns.push_back({rows[0][c], c < 3 ? Column::Kind::kText : Column::Kind::kNumber});
  }
  listed.rows.assign(rows.begin() + 1, rows.end());
  for (std::size_t r = 0; r < runs.size(); ++r) listed.rows[r][0] = runs[r].name;  // whole
  std::string cards = section(
      "Runs", "Seconds are those of training alone: without reading, validation and checkpoints.",
      draw(listed), "wide");
  std::vector<LearningCurve> curves;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    curves.push_back({runs[r].name, runs[r].iterations, r + 1});
  }
  cards += curve_sections(runs[0].metric,
                          more_is_better(runs[0]) ? "On held-out interactions; more is better."
                                                  : "On held-out interactions; less is better.",
                          curves, Measure::kValidation);
  cards += objective_cards(runs);
  const std::string warning = different_data();
  return page("Comparison of trainings",
              fmt::format("{}, {}{}{}", counted(std::ssize(runs), "run"), runs[0].metric,
                          warning.empty() ? "" : " · ", warning),
              fmt::format("<div class='cards'>\n{}</div>\n", cards));
}

}  // namespace likewise::cli
