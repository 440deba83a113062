// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "likewise/evaluation.h"
#include "likewise/model.h"
#include "likewise/write.h"
#include "options/features.h"
#include "options/options.h"
#include "options/paths.h"
#include "options/targets.h"
#include "options/titles.h"
#include "options/training_options.h"
#include "output/parameters.h"
#include "output/rows.h"
#include "output/text.h"
#include "report/report.h"
#include "verb.h"
#include "verbs/training.h"

namespace likewise::cli {
namespace {

struct Train {
  const CLI::App* given = nullptr;
  std::vector<std::string> ratings;
  std::string output;
  std::string validation;
  std::string validation_metric;
  std::string validation_candidates;
  Index validation_negatives = 0;
  std::optional<MetricTarget> target;
  Checkpointing checkpointing;
  std::string resume;
  std::string report;
  bool only_plan = false;
  bool json = false;
  bool verbose = false;
  TitlesOption titles;
  FeaturesOption features;
  TrainingOptions training;
  ReadOptions reading;
  Common common;

  void run() const {
    check_options();
    check_paths("RATINGS", ratings,
                {{"--validation", validation},
                 {"--validation-candidates", validation_candidates},
                 {"--resume", resume, PathUse::kEarlierModel},
                 {"--titles", titles.path},
                 {"--item-features", features.items.path},
                 {"--user-features", features.users.path},
                 {"-o", output, PathUse::kModel},
                 {"--checkpoint", checkpointing.path, PathUse::kModel},
                 {"--report", report, PathUse::kOutput},
                 {"--json on standard output", json ? "-" : "", PathUse::kOutput}});
    Progress progress(common.quiet, verbose);
    std::optional<HeldFile> held_output;
    std::optional<HeldFile> held_checkpoint;
    if (!resume.empty() && file_identity(resume) == file_identity(output))
      held_output.emplace(output);
    if (!checkpointing.path.empty()) held_checkpoint.emplace(checkpointing.path);
    std::optional<Model> earlier;
    if (!resume.empty()) earlier = load_model(resume);
    check_auto(earlier);
    const TrainingRequest request = request_with(earlier);
    TrainingOutline before = outline(request);
    if (!training.is_auto()) {
      if (features.given()) require_features(before.params);
      check_iterations(before.params);
    }
    const bool chosen_by_data = training.is_auto() || !before.device;
    if (!chosen_by_data) progress.say(device_line(*before.device));
    const ReadOptions rows = reading_for(feedback_of(before.params), reading);
    const Interactions data = read_with_report(ratings, rows, progress);
    const TrainingPlan plan = prepare(request, std::move(before), data);
    if (only_plan) return print_plan(plan);
    if (training.is_auto()) {
      progress.say(
          fmt::format("algorithm: {}; {}", algorithm_name(plan.params), plan.algorithm_reason));
    }
    if (chosen_by_data) progress.say(device_line(plan.device));
    const FeatureTables tables = read_features_with_report(features, progress);
    check_features(data, tables);
    tell_notes(plan.notes, progress);
    tell_notes(plan.remarks, progress);
    if (verbose) {
      progress.say(fmt::format("parameters: {}", effective_text(plan.params)));
      if (!plan.tuning.empty()) progress.say(fmt::format("tuning: {}", plan.tuning));
    }
    std::optional<Interactions> measured;
    if (!validation.empty()) {
      measured = read_with_report(validation, held_out(rows), progress, "read validation");
    }
    std::optional<Interactions> candidates;
    if (!validation_candidates.empty()) {
      candidates = read_with_report(validation_candidates, reading_of_pairs(reading), progress,
                                    "read candidates");
    }
    Titles called;
    const IdMap& trained = earlier ? earlier->items : data.items;  // an update may order them again
    const IdMap items = tables.items ? ids_with(trained, tables.items->ids) : trained.share();
    if (titles.given()) called = read_titles_with_report(titles, items, progress);
    progress.stage("train");
    TrainingRun how;
    how.validation = measured ? &*measured : nullptr;
    how.validation_candidates = candidates ? &*candidates : nullptr;
    how.checkpoint = checkpointing;
    how.checkpoint.held = held_checkpoint ? &*held_checkpoint : nullptr;
    how.source = base_name(ratings);
    const auto model =
        std::make_shared<Model>(train_with_report(plan, data, std::move(how), progress));
    tell_notes(notes_on(*model), progress);
    add_features_with_report(*model, tables, progress);
    model->titles = titles.given() || !earlier ? std::move(called) : earlier->titles.share();
    progress.stage("save");
    held_output ? save_model(*model, *held_output) : save_model(*model, output);
    if (!report.empty()) {
      const std::vector<StageTime> stages = progress.finish();
      progress.stage("report");
      write_report(describe_training(model, plan.device.device, base_name(ratings), stages),
                   report);
    }
    tell(*model, progress);
  }

  [[nodiscard]] TrainingRequest request_with(const std::optional<Model>& earlier) const {
    TrainingRequest request = training.request();
    request.device = common.device;
    request.device_options.device_memory = common.device_memory;
    request.has_lists = !report.empty();
    request.resume = earlier ? &*earlier : nullptr;
    if (validation.empty()) return request;
    request.validation = {asked_metric(), !validation_candidates.empty(), validation_negatives, {}};
    if (target) request.validation->target = target->value;
    return request;
  }

  static void tell_notes(const std::vector<std::string>& notes, Progress& progress) {
    for (const std::string& note : notes) progress.say("note: " + spelled(note, as_option));
  }

  /// Of --algorithm auto, before anything is read.
  void check_auto(const std::optional<Model>& earlier) const {
    if (!training.is_auto() || earlier) return;
    for (const char* option : {"--target", "--checkpoint"}) {
      refuse_idle(*given, option, false,
                  "--algorithm als or another that iterates; auto may choose one that does not");
    }
    refuse_features_of_auto(*given);
  }

  /// Options that other options decide about; those of an algorithm are TrainingOptions's.
  void check_options() const {
    for (const char* option :
         {"--validation-metric", "--validation-candidates", "--validation-negatives", "--target"}) {
      refuse_idle(*given, option, !validation.empty(), "--validation");
    }
    if (target && !validation_metric.empty() &&
        parse_metric(validation_metric).key != target->metric.key) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("--target {}={} with --validation-metric {}: the metric that is "
                              "measured has to be the target's; leave --validation-metric out",
                              target->metric.key, target->value, validation_metric));
    }
    check_few_items(*given, "--validation-candidates", "--validation-negatives",
                    validation_negatives);
    refuse_idle_titles(*given, titles);
    refuse_idle_features(*given, features);
  }

  /// To validate by; empty: the usual one.
  [[nodiscard]] std::string asked_metric() const {
    return target ? target->metric.key : validation_metric;
  }

  void check_iterations(const TrainingParams& params) const {
    for (const char* option : {"--target", "--checkpoint", "--resume"}) {
      refuse_idle(
          *given, option, iterates(params),
          fmt::format("--algorithm als, which iterates; {} does not", algorithm_name(params)));
    }
    refuse_idle(*given, "--patience", !validation.empty(), "--validation");
  }

  void print_plan(const TrainingPlan& plan) const {
    print_result(json ? plan_json(plan).dump(2) + "\n" : describe(plan) + "\n");
  }

  void tell(const Model& model, Progress& progress) const {
    const std::vector<StageTime>& stages = progress.finish();
    if (!model.iterations.empty()) {
      const Iteration& last = model.iterations.back();
      const std::string end =
          model.stop_reason == "iterations"
              ? counted(last.iteration, "iteration")
              : fmt::format("stopped after iteration {} ({})", last.iteration, model.stop_reason);
      progress.say(fmt::format("{} factors, {}; objective {:.6g}",
                               parameter_text(model.params, "factors"), end, last.objective));
      if (!validation.empty()) {
        progress.say(
            fmt::format("kept iteration {}, the best by validation", model.best_iteration));
      }
      if (target) progress.say(target_text(*target, model.iterations));
    }
    if (model.validation) {
      progress.say(
          fmt::format("validation: {} {:.4f}", model.validation_metric, *model.validation));
    }
    progress.say_times();
    progress.say("model: " + output);
    if (!report.empty()) progress.say("report: " + report);
    progress.say(model.ranks_items()
                     ? fmt::format("next: likewise recommend {} --user {} -n 10",
                                   shell_word(output), example(model))
                     : fmt::format("next: likewise evaluate {} TEST", shell_word(output)));
    if (json) print_json(model, stages);
  }

  /// The first user, as a shell takes it; not where it cannot be printed as it is.
  static std::string example(const Model& model) {
    if (model.users.size() == 0) return "ID";
    const std::string name(model.users.name(0));
    return printable(name) == name ? shell_word(name) : "ID";
  }

  /// Where it was reached; null where it never was.
  [[nodiscard]] nlohmann::ordered_json target_json(std::span<const Iteration> iterations) const {
    nlohmann::ordered_json out = {{"metric", target->metric.key}, {"value", target->value}};
    const Reached reached = reached_by(*target, iterations);
    out["iteration"] = reached.iteration > 0 ? nlohmann::ordered_json(reached.iteration) : nullptr;
    out["elapsed"] = reached.iteration > 0 ? nlohmann::ordered_json(reached.elapsed) : nullptr;
    return out;
  }

  void print_json(const Model& model, const std::vector<StageTime>& stages) const {
    nlohmann::ordered_json out;
    out["model"] = output;
    out["algorithm"] = model.algorithm();
    if (!model.provenance.choice.empty()) out["choice"] = model.provenance.choice;
    out["feedback"] = kFeedbackNames[static_cast<std::size_t>(model.feedback())];
    out["parameters"] = effective_json(model.params);
    out["users"] = model.users.size();
    out["items"] = model.items.size();
    out["interactions"] = model.history.nnz();
    out["device"] = model.provenance.device;
    for (const StageTime& stage : stages) out["seconds"][stage.name] = stage.seconds;
    if (!model.validation_metric.empty()) out["validation_metric"] = model.validation_metric;
    if (!model.validation_among.empty()) out["validation_among"] = model.validation_among;
    if (model.validation) out["validation"] = *model.validation;
    if (target) out["target"] = target_json(model.iterations);
    out["iterations"] = nlohmann::json::array();
    const std::vector<double> elapsed = elapsed_seconds(model.iterations);
    for (std::size_t i = 0; i < elapsed.size(); ++i) {
      const Iteration& it = model.iterations[i];
      nlohmann::ordered_json one = {{"iteration", it.iteration},
                                    {"objective", it.objective},
                                    {"seconds", it.seconds},
                                    {"elapsed", elapsed[i]}};
      if (it.validation) one["validation"] = *it.validation;
      out["iterations"].push_back(one);
    }
    out["best_iteration"] = model.best_iteration;
    out["stop_reason"] = model.stop_reason;
    print_result(out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
};

void add_keeping_options(CLI::App& app, Train& verb) {
  constexpr const char* kGroup = "Following and keeping";
  add_path(app, "--validation", verb.validation,
           "Held-out interactions, measured after every iteration (the best one is kept), or once "
           "where the algorithm has none")
      ->type_name("FILE")
      ->group(kGroup);
  add_text(app, "--validation-metric", verb.validation_metric,
           "What to measure: a metric of `likewise evaluate --help` [rmse where ratings are "
           "predicted, else ndcg@10]")
      ->type_name("NAME")
      ->group(kGroup);
  add_path(app, "--validation-candidates", verb.validation_candidates,
           "Validation ranks only these items of each user: pairs of user,item")
      ->type_name("FILE")
      ->group(kGroup);
  add_number(app, "--validation-negatives", verb.validation_negatives,
             "Validation ranks each held-out item among N random others")
      ->group(kGroup);
  add_target_option(app, verb.target,
                    "Stop when the validation is as good, as ndcg@10=0.35 or rmse=0.92")
      ->group(kGroup);
  CLI::Option* checkpoint =
      add_path(app, "--checkpoint", verb.checkpointing.path, "Keep the state here while training")
          ->type_name("FILE")
          ->group(kGroup);
  add_number(app, "--checkpoint-every", verb.checkpointing.every, "Iterations between checkpoints",
             {1, 1'000'000})
      ->needs(checkpoint)
      ->capture_default_str()
      ->group(kGroup);
  add_path(app, "--resume", verb.resume, "Go on from a checkpoint or model, with its parameters")
      ->type_name("FILE")
      ->group(kGroup);
  add_path(app, "--report", verb.report, "Write a page with charts and sample recommendations")
      ->type_name("FILE.html")
      ->group(kGroup);
  app.add_flag("--plan", verb.only_plan,
               "Print all that is decided before training, with the reasons, and stop: nothing is "
               "trained or written")
      ->group(kGroup);
  app.add_flag("-v,--verbose", verb.verbose,
               "Also print the parameters, the memory that training takes, and how a GPU is used")
      ->excludes("--quiet")
      ->group(kGroup);
  app.add_flag("--json", verb.json, "Print one object: sizes, times, objective per iteration")
      ->group(kGroup);
}

}  // namespace

Run add_train(CLI::App& app) {
  auto verb = std::make_shared<Train>();
  add_inputs(app, "RATINGS", verb->ratings, "Interactions: user, item [, value] [, time]");
  CLI::Option* output =
      add_path(app, "-o,--output", verb->output, "The model file to write")->type_name("MODEL");
  app.parse_complete_callback([verb = verb.get(), output] {
    if (!verb->only_plan && output->empty()) throw CLI::RequiredError(output->get_name());
  });
  verb->given = &app;
  verb->training.add(app);
  add_device_options(app, verb->common);
  add_device_memory_option(app, verb->common);
  add_keeping_options(app, *verb);
  add_titles_options(app, verb->titles,
                     "Keep titles with the model, from a file of item ids and titles: lists and "
                     "the report show them");
  add_features_options(app, verb->features);
  add_reading_options(app, verb->reading);
  add_weighing_options(app, verb->reading);
  app.footer(
      "Examples:\n"
      "  likewise train plays.csv -o model.safetensors --factors 128\n"
      "  likewise train ratings.csv -o model.safetensors --feedback explicit --report report.html\n"
      "  likewise train plays.csv -o model.safetensors --algorithm item-knn --similarity bm25\n"
      "  likewise train plays.csv -o model.safetensors --algorithm auto\n"
      "  likewise train plays.csv -o model.safetensors --item-features artists.csv\n"
      "  likewise train parts/train.csv -o model.safetensors --validation parts/test.csv \\\n"
      "      --iterations 50 --patience 3 --checkpoint state.safetensors\n"
      "  likewise train parts/train.csv -o model.safetensors --validation parts/test.csv \\\n"
      "      --iterations 100 --target ndcg@10=0.35");
  return on_threads(verb);
}

}  // namespace likewise::cli
