// SPDX-License-Identifier: Apache-2.0
#include "likewise/update.h"

#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "likewise/error.h"
#include "likewise/model.h"
#include "likewise/training.h"
#include "likewise/write.h"
#include "options/features.h"
#include "options/options.h"
#include "options/paths.h"
#include "options/titles.h"
#include "output/rows.h"
#include "verb.h"
#include "verbs/training.h"

namespace likewise::cli {
namespace {

struct Update {
  const CLI::App* given = nullptr;
  std::string model;
  std::vector<std::string> more;
  std::string output;
  std::optional<UpdateBy> by;
  int iterations = 0;
  double learning_rate = 0.0;
  bool json = false;
  bool verbose = false;
  TitlesOption titles;
  FeaturesOption features;
  ReadOptions reading;
  Common common;

  void run() const {
    refuse_idle_titles(*given, titles);
    refuse_idle_features(*given, features);
    check_paths("NEW", more,
                {{"MODEL", model, PathUse::kEarlierModel},
                 {"--titles", titles.path},
                 {"--item-features", features.items.path},
                 {"--user-features", features.users.path},
                 {"-o", output, PathUse::kModel},
                 {"--json on standard output", json ? "-" : "", PathUse::kOutput}});
    Progress progress(common.quiet, verbose);
    std::optional<HeldFile> held = hold(progress);
    progress.stage("load");
    const Model earlier = load_model(model);
    UpdateOptions options = asked(progress);
    require_updatable(earlier, options);
    if (features.given()) require_features(earlier.params);
    const Device device =
        announced_device_to_train(common, params_of_update(earlier, options), {}, progress);
    ReadSummary summary;
    const Interactions added = read_with_report(more, reading_for(earlier.feedback(), reading),
                                                progress, "read", &summary);
    options.duplicates = summary.policy;
    const FeatureTables tables = read_features_with_report(features, progress, &earlier);
    progress.stage("update");
    UpdatedModel updated = update_model(earlier, added, options, device, progress.control());
    add_features_with_report(updated.model, tables, progress);
    tell(earlier, updated, summary.policy, progress);
    if (titles.given()) {
      updated.model.titles = read_titles_with_report(titles, updated.model.items, progress);
    }
    progress.stage("save");
    held ? save_model(updated.model, *held) : save_model(updated.model, output);
    finish(earlier, updated, progress);
  }

  /// The model that is read and written again; updates of one model come one after the other.
  [[nodiscard]] std::optional<HeldFile> hold(Progress& progress) const {
    if (file_identity(model) != file_identity(output)) return std::nullopt;
    return HeldFile(output, Progress::stop_control(), [&] {
      progress.stage("wait");
      progress.say(fmt::format("{}: another program has it in hand; waiting for its end",
                               printable(output)));
    });
  }

  [[nodiscard]] UpdateOptions asked(Progress& progress) const {
    UpdateOptions options;
    options.by = by;
    if (given->count("--iterations") > 0) options.iterations = iterations;
    if (given->count("--learning-rate") > 0) options.learning_rate = learning_rate;
    options.source = base_name(more);
    options.on_plan = [this, &progress](const MemoryPlan& plan) {
      if (plan.parts.empty()) return;
      progress.detail(fmt::format("memory: {}\n{}", plan.placement, describe(plan)));
    };
    return options;
  }

  static void tell(const Model& earlier, const UpdatedModel& updated, Duplicates policy,
                   Progress& progress) {
    const Model& now = updated.model;
    progress.finish();
    progress.say(fmt::format("new: {}, {}",
                             counted(now.users.size() - earlier.users.size(), "user"),
                             counted(now.items.size() - earlier.items.size(), "item")));
    progress.say(fmt::format("refined: {} of {}, {} of {}", counted(updated.users, "user"),
                             with_commas(now.users.size()), counted(updated.items, "item"),
                             with_commas(now.items.size())));
    if (updated.repeated > 0) {
      progress.say(fmt::format("{} that the model has already: {}",
                               counted(updated.repeated, "pair"), what_counts(policy)));
    }
  }

  [[nodiscard]] static const char* what_counts(Duplicates policy) {
    if (policy == Duplicates::kSum || policy == Duplicates::kCount) {
      return "the values are added up";
    }
    if (policy == Duplicates::kFirst) return "the earlier value counts";
    return policy == Duplicates::kMax ? "the larger value counts"
                                      : "the value of the new rows counts";
  }

  void finish(const Model& earlier, const UpdatedModel& updated, Progress& progress) const {
    const std::vector<StageTime>& stages = progress.finish();
    progress.say_times();
    progress.say("model: " + output);
    if (json) print_json(earlier, updated, stages);
  }

  void print_json(const Model& earlier, const UpdatedModel& updated,
                  const std::vector<StageTime>& stages) const {
    const Model& now = updated.model;
    const ModelUpdate& note = now.provenance.updates.back();
    nlohmann::ordered_json out;
    out["model"] = output;
    out["algorithm"] = now.algorithm();
    if (!note.by.empty()) out["by"] = note.by;
    out["feedback"] = kFeedbackNames[static_cast<std::size_t>(now.feedback())];
    out["users"] = now.users.size();
    out["items"] = now.items.size();
    out["interactions"] = now.history.nnz();
    out["new"] = {{"users", now.users.size() - earlier.users.size()},
                  {"items", now.items.size() - earlier.items.size()},
                  {"interactions", note.interactions},
                  {"repeated", updated.repeated}};
    out["refined"] = {{"users", updated.users}, {"items", updated.items}};
    out["iterations"] = note.iterations;
    out["device"] = note.device;
    for (const StageTime& stage : stages) out["seconds"][stage.name] = stage.seconds;
    print_result(out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
};

}  // namespace

Run add_update(CLI::App& app) {
  auto verb = std::make_shared<Update>();
  verb->given = &app;
  add_path(app, "MODEL", verb->model, "A model file")->required();
  add_inputs(app, "NEW", verb->more, "New interactions: user, item [, value] [, time]");
  add_path(app, "-o,--output", verb->output, "The model file to write; may be MODEL")
      ->type_name("MODEL")
      ->required();
  const std::function<void(UpdateBy)> choose = [raw = verb.get()](UpdateBy by) { raw->by = by; };
  add_choice<UpdateBy>(app, "--by", choices_of<UpdateBy>(kUpdateByNames), choose,
                       "Models of als: least squares over whole rows, or steps of SGD over new "
                       "ratings (explicit feedback)")
      ->default_str("als");
  add_number(app, "--iterations", verb->iterations, "Rounds of als, or epochs of SGD and BPR")
      ->default_str("als 2, sgd 3, bpr 10");
  add_number(app, "--learning-rate", verb->learning_rate,
             "Of steps of SGD and BPR [that of training; bpr: a quarter of it; als: 0.05]");
  add_device_options(app, verb->common);
  add_device_memory_option(app, verb->common);
  app.add_flag("-v,--verbose", verb->verbose, "Also print the memory that the work takes")
      ->excludes("--quiet");
  app.add_flag("--json", verb->json, "Print one object: sizes, what was new and refined, times");
  add_features_options(app, verb->features);
  add_titles_options(app, verb->titles,
                     "Keep titles with the model, from a file of item ids and titles; without it "
                     "those of MODEL stay");
  add_reading_options(app, verb->reading);
  add_weighing_options(app, verb->reading);
  app.footer(
      "New users and items join, rows with a new interaction are refined, all others keep their\n"
      "numbers. Neighbourhoods, ease, spectral, popular and bias come out as if trained on all.\n\n"
      "Examples:\n"
      "  likewise update model.safetensors today.csv -o model.safetensors\n"
      "  likewise update stars.safetensors tonight.csv -o stars.safetensors --by sgd");
  return on_threads(verb);
}

}  // namespace likewise::cli
