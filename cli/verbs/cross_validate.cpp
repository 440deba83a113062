// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "likewise/cross_validation.h"
#include "options/features.h"
#include "options/options.h"
#include "options/paths.h"
#include "options/training_options.h"
#include "output/rows.h"
#include "output/text.h"
#include "verb.h"
#include "verbs/training.h"

namespace likewise::cli {
namespace {

/// "ndcg@10 0.3120, recall@10 0.2011"
[[nodiscard]] std::string metrics_text(const EvaluationReport& report) {
  std::vector<std::string> all;
  for (const auto& [name, value] : report.metrics) {
    all.push_back(fmt::format("{} {:.4f}", name, value));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

struct CrossValidate {
  const CLI::App* given = nullptr;
  std::vector<std::string> ratings;
  CrossValidationRequest request{.training = {}};
  TrainingOptions training;
  FeaturesOption features;
  bool json = false;
  ReadOptions reading;
  Common common;

  void run() {
    request.training = training.request();
    take_clip();
    request.training.device = common.device;
    request.training.device_options.device_memory = common.device_memory;
    request.training.has_lists = true;
    check_options();
    check_paths("RATINGS", ratings,
                {{"--item-features", features.items.path},
                 {"--user-features", features.users.path},
                 {"the metrics on standard output", "-", PathUse::kOutput}});
    TrainingOutline before = outline(request.training);
    check_measures(before.params);
    if (features.given()) require_features(before.params);
    Progress progress(common.quiet);
    const bool chosen_by_data = !before.device;
    if (!training.is_auto() && !chosen_by_data) progress.say(device_line(*before.device));
    ReadOptions rows = reading_for(feedback_of(before.params), reading);
    rows.keep_times = request.parts.method == SplitMethod::kTime;
    const Interactions data = read_with_report(ratings, rows, progress);
    if (!training.is_auto() && chosen_by_data) {
      before = with_device(request.training, std::move(before), data.by_user.view());
      progress.say(device_line(*before.device));
    }
    const FeatureTables tables = read_features_with_report(features, progress);
    request.features = tables.empty() ? nullptr : &tables;
    progress.stage("folds");
    int done = 0;
    const CrossValidation found = cross_validate(
        request, data, progress.control(),
        [&](const FoldResult& fold, int folds) { progress.say(told(fold, ++done, folds)); });
    const double seconds = progress.finish().back().seconds;
    print_result(json ? as_json(found, seconds) : as_text(found, seconds));
  }

  /// Of algorithms that have no such parameter --clip is of predictions, as evaluate takes it.
  void take_clip() {
    std::vector<AskedParameter>& asked = request.training.parameters;
    const auto clip = std::ranges::find(asked, "clip", &AskedParameter::name);
    if (clip == asked.end()) return;
    const std::string algorithm =
        request.training.algorithm.empty() ? "als" : request.training.algorithm;
    if (algorithm != kAutoAlgorithm) {
      const std::vector<ParameterInfo> own = parameters_of(algorithm);
      if (std::ranges::find(own, clip->name, &ParameterInfo::name) != own.end()) return;
    }
    request.clip = clip->text == "on";
    asked.erase(clip);
  }

  void check_options() {
    const bool rolling = given->count("--rolling") > 0;
    if (rolling) request.parts.method = SplitMethod::kTime;
    for (const char* option : {"--at", "--test"}) {
      refuse_idle(*given, option, rolling, "--rolling");
    }
    refuse_idle(*given, "--test", !request.parts.at, "no --at, which says where the tests begin");
    refuse_idle(*given, "--folds", !rolling, "no --rolling, which says how many tests there are");
    refuse_idle(*given, "--fold-seed", !rolling, "no --rolling: times are not drawn");
    if (rolling && request.parts.rolling == 0) {
      throw Error(ErrorKind::kInvalidArgument, "--rolling must be at least 2, not 0");
    }
    request.parts.validate();
    if (training.is_auto()) refuse_features_of_auto(*given);
    refuse_idle_features(*given, features);
  }

  /// Options of lists, where there are none.
  void check_measures(const TrainingParams& params) const {
    Model untrained;
    untrained.params = params;
    const MetricNeeds needs = needs_of(untrained, request.evaluation);
    refuse_idle(*given, "--clip", needs.ratings || !request.clip, "--metrics with rmse or mae");
    refuse_idle(*given, "-k", needs.lists, "--metrics with one of lists, as ndcg");
    refuse_idle(*given, "--min-relevant-value", needs.ranking,
                "--metrics with one that ranks, as ndcg");
  }

  [[nodiscard]] std::string told(const FoldResult& fold, int number, int folds) const {
    return fmt::format("fold {} of {}: {}{} trained, {} tested, {}; {}", number, folds,
                       training.is_auto() ? fold.algorithm + ", " : std::string(),
                       counted(fold.trained, "interaction"), with_commas(fold.tested),
                       duration(fold.seconds), metrics_text(fold.report)) +
           (fold.users_not_ranked > 0 ? "; " + not_ranked({&fold, 1}) : "");
  }

  /// Of users with something to find in the tests.
  [[nodiscard]] static std::string not_ranked(std::span<const FoldResult> folds) {
    Index left_out = 0;
    Index users = 0;
    for (const FoldResult& fold : folds) {
      left_out += fold.users_not_ranked;
      users += fold.users_not_ranked + fold.report.users_evaluated;
    }
    return text_of_not_ranked(left_out, users);
  }

  [[nodiscard]] static std::string as_text(const CrossValidation& found, double seconds) {
    TextTable table({"metric", "mean", "deviation", "least", "most"});
    for (const auto& [name, over] : found.metrics) {
      std::vector<std::string> row{name};
      for (const double value : {over.mean, over.deviation, over.least, over.most}) {
        row.push_back(fmt::format("{:.4f}", value));
      }
      table.add(std::move(row));
    }
    const std::string left_out = not_ranked(found.folds);
    return fmt::format("{}\n{} in {}\n{}", table.text(), counted(std::ssize(found.folds), "fold"),
                       duration(seconds), left_out.empty() ? "" : left_out + "\n");
  }

  [[nodiscard]] static std::string as_json(const CrossValidation& found, double seconds) {
    nlohmann::ordered_json out;
    for (const auto& [name, over] : found.metrics) {
      out["metrics"][name] = {{"mean", over.mean},
                              {"deviation", over.deviation},
                              {"least", over.least},
                              {"most", over.most}};
    }
    for (const FoldResult& fold : found.folds) {
      nlohmann::ordered_json one = {{"algorithm", fold.algorithm},
                                    {"trained", fold.trained},
                                    {"tested", fold.tested},
                                    {"users_evaluated", fold.report.users_evaluated},
                                    {"users_not_ranked", fold.users_not_ranked},
                                    {"pairs_evaluated", fold.report.pairs_evaluated},
                                    {"metrics", fold.report.metrics},
                                    {"seconds", fold.seconds}};
      out["folds"].push_back(std::move(one));
    }
    out["seconds"] = seconds;
    return out.dump(2) + "\n";
  }
};

void add_folds(CLI::App& app, CrossValidate& verb) {
  constexpr const char* kGroup = "Folds";
  SplitOptions& parts = verb.request.parts;
  add_number(app, "--folds", parts.folds, "How many: each interaction is in the test part of one")
      ->capture_default_str()
      ->group(kGroup);
  add_number(app, "--fold-seed", parts.seed, "Same seed, same folds")
      ->capture_default_str()
      ->group(kGroup);
  add_number(app, "--rolling", parts.rolling,
             "In place of these so many tests one after the other in time, each with all that is "
             "older to train on")
      ->group(kGroup);
  add_number(app, "--test", parts.test, "rolling: share of the rows in all tests together")
      ->type_name("SHARE")
      ->capture_default_str()
      ->group(kGroup);
  add_moment(app, "--at", parts.at, "rolling: the first test begins here, as 2026-01-01")
      ->group(kGroup);
}

}  // namespace

Run add_cross_validate(CLI::App& app) {
  auto verb = std::make_shared<CrossValidate>();
  add_inputs(app, "RATINGS", verb->ratings, "Interactions: user, item [, value] [, time]");
  verb->given = &app;
  add_folds(app, *verb);
  constexpr const char* kMeasures = "Measures";
  add_measures(app, verb->request.evaluation, kMeasures);
  app.add_flag("--json", verb->json, "Print one object: each metric over the folds, and all folds")
      ->group(kMeasures);
  verb->training.add(app);
  app.remove_option(app.get_option("--patience"));  // no part of a fold is left for validation
  add_features_options(app, verb->features);
  add_device_options(app, verb->common);
  add_device_memory_option(app, verb->common);
  add_reading_options(app, verb->reading);
  add_weighing_options(app, verb->reading);
  app.footer(
      "Trains and measures once for each fold, and writes no model. Defaults that follow the data\n"
      "are decided for each fold.\n\n"
      "Examples:\n"
      "  likewise cross-validate plays.csv --folds 5 --metrics ndcg,recall -k 10,20\n"
      "  likewise cross-validate ratings.csv --feedback explicit --algorithm item-knn\n"
      "  likewise cross-validate events.csv --rolling 4 --algorithm auto --json");
  return on_threads(verb);
}

}  // namespace likewise::cli
