// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "likewise/add_interactions.h"
#include "likewise/autotune.h"
#include "neighbour_options.h"
#include "options.h"
#include "report.h"
#include "rows.h"
#include "training.h"
#include "training_options.h"
#include "verb.h"

namespace likewise::cli {
namespace {

/// Which of a card's ways this training takes, and where that is from.
void say_tuning(const Backend& backend, const AlsParams& params, Offset interactions,
                Progress& progress) {
  const AlsTuner* tuner = backend.als_tuner();
  if (tuner == nullptr) return progress.say("tuning: there is none on this device");
  const ChosenTuning chosen = tuner->choose(params, interactions);
  progress.say(fmt::format("tuning: {} ({})", tuning_text(chosen.tuning), chosen.source));
}

struct Train {
  std::string ratings;
  std::string output;
  std::string algorithm = "als";
  std::string validation;
  std::string validation_metric;
  Checkpointing checkpointing;
  std::string resume;
  std::string add_to;
  std::string report;
  bool json = false;
  bool verbose = false;
  TrainingOptions training;
  NeighbourOptions neighbourhood;
  ReadOptions reading;
  Common common;

  [[nodiscard]] bool compares() const { return algorithm == "item-knn" || algorithm == "user-knn"; }

  void run() const {
    check_options();
    for (const std::string& path : {output, report, checkpointing.path}) check_output_folder(path);
    Progress progress(common.quiet, verbose);
    if (!add_to.empty()) return add(progress);
    std::shared_ptr<Model> earlier;
    if (!resume.empty()) earlier = std::make_shared<Model>(load_model(resume));
    const AlsParams params = earlier ? training.resumed(earlier->als) : training.params();
    const auto backend = algorithm != "popular" ? open_device_to_train(common, params, progress)
                                                : open_device(common, progress);
    NeighbourParams knn;
    if (compares()) {
      knn = neighbourhood.params(training.feedback(),
                                 algorithm == "item-knn" ? Side::kItems : Side::kUsers);
    }
    Interactions data = read_with_report(ratings, reading, progress);
    if (earlier) require_same_ids(*earlier, data);
    if (algorithm == "als" && verbose) {
      say_tuning(*backend, params, data.by_user.nnz(), progress);
    }
    const auto model =
        start_model(std::move(data), algorithm, params, base_name(ratings), *backend);
    model->knn = knn;
    const std::string stop_reason = learn(model, earlier.get(), backend, progress);
    progress.stage("save");
    save_model(*model, output);
    if (!report.empty()) {
      const std::vector<StageTime> stages = progress.finish();
      progress.stage("report");
      write_report(describe_training(model, backend, base_name(ratings), stages), report);
    }
    tell(*model, stop_reason, progress);
  }

  /// The model of --add-to with more interactions.
  void add(Progress& progress) const {
    progress.stage("load");
    const Model earlier = load_model(add_to);
    const auto backend = open_device(common, progress);
    const Interactions more = read_with_report(ratings, reading, progress);
    progress.stage("add");
    AddedInteractions added = add_interactions(earlier, more, *backend, progress.control());
    added.model.provenance.created = utc_now();
    added.model.provenance.device = device_text(*backend);
    progress.say(fmt::format("{} of {} compared with all others again",
                             counted(added.rows_searched, "row"),
                             with_commas(added.model.neighbours.size())));
    progress.stage("save");
    save_model(added.model, output);
    tell(added.model, "", progress);
  }

  /// An option that would do nothing is a mistake.
  void check_options() const {
    const auto refuse = [&](bool given, const char* options, const char* owner) {
      if (!given) return;
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("{} need --algorithm {}, not {}", options, owner, algorithm));
    };
    refuse(!compares() && neighbourhood.given(), "options of neighbourhoods",
           "item-knn or user-knn");
    if (!add_to.empty() && (neighbourhood.given() || training.given() || !report.empty())) {
      throw Error(ErrorKind::kInvalidArgument,
                  "--add-to takes its parameters from the model and writes no report: leave out "
                  "training options and --report");
    }
    refuse(compares() && training.given(), "options of factors", "als");
    refuse(compares() && !(validation.empty() && checkpointing.path.empty() && resume.empty()),
           "--validation, --checkpoint and --resume", "als");
  }

  /// Returns why training stopped; empty for algorithms that do not iterate.
  std::string learn(const std::shared_ptr<Model>& model, const Model* earlier,
                    const std::shared_ptr<const Backend>& backend, Progress& progress) const {
    if (algorithm == "popular") {
      progress.stage("train");
      train_popular_model(*model);
      return "";
    }
    if (compares()) {
      progress.stage("train");
      train_neighbour_model(*model, *backend, progress);
      return "";
    }
    std::optional<ValidationData> held_out;
    if (!validation.empty()) {
      const bool explicit_ratings = model->als.feedback == Feedback::kExplicit;
      const std::string usual = explicit_ratings ? "rmse" : "ndcg@10";
      held_out =
          ValidationData{read_with_report(validation, reading, progress, "read validation"),
                         parse_metric(validation_metric.empty() ? usual : validation_metric)};
    }
    progress.stage("train");
    return train_als_model(model, backend, held_out, earlier, checkpointing, progress);
  }

  void tell(const Model& model, const std::string& stop_reason, Progress& progress) const {
    const std::vector<StageTime>& stages = progress.finish();
    if (!model.iterations.empty()) {
      const AlsIteration& last = model.iterations.back();
      progress.say(fmt::format("stopped after iteration {} ({}); objective {:.6g}", last.iteration,
                               stop_reason, last.objective));
      if (!validation.empty()) {
        progress.say(
            fmt::format("kept iteration {}, the best by validation", model.best_iteration));
      }
    }
    std::string times;
    for (const StageTime& stage : stages) {
      times +=
          fmt::format("{}{} {}", times.empty() ? "" : ", ", stage.name, duration(stage.seconds));
    }
    progress.say("time: " + times);
    progress.say("model: " + output);
    if (!report.empty()) progress.say("report: " + report);
    progress.say(
        fmt::format("next: likewise recommend {} --user {} -n 10", output, example(model)));
    if (json) print_json(model, stop_reason, stages);
  }

  static std::string example(const Model& model) {
    return model.users.size() == 0 ? "ID" : printable(model.users.name(0));
  }

  void print_json(const Model& model, const std::string& stop_reason,
                  const std::vector<StageTime>& stages) const {
    nlohmann::ordered_json out;
    out["model"] = output;
    out["algorithm"] = model.algorithm;
    out["users"] = model.users.size();
    out["items"] = model.items.size();
    out["interactions"] = model.history.nnz();
    out["device"] = model.provenance.device;
    for (const StageTime& stage : stages) out["seconds"][stage.name] = stage.seconds;
    out["iterations"] = nlohmann::json::array();
    for (const AlsIteration& it : model.iterations) {
      nlohmann::ordered_json one = {
          {"iteration", it.iteration}, {"objective", it.objective}, {"seconds", it.seconds}};
      if (it.validation) one["validation"] = *it.validation;
      out["iterations"].push_back(one);
    }
    out["best_iteration"] = model.best_iteration;
    out["stop_reason"] = stop_reason;
    print_result(out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
};

void add_keeping_options(CLI::App& app, Train& verb) {
  constexpr const char* kGroup = "Following and keeping";
  app.add_option("--validation", verb.validation,
                 "Held-out interactions, measured after every iteration; the best one is kept")
      ->type_name("FILE")
      ->group(kGroup);
  app.add_option("--validation-metric", verb.validation_metric,
                 "What to measure [ndcg@10 implicit, rmse explicit]")
      ->type_name("NAME")
      ->group(kGroup);
  CLI::Option* checkpoint =
      app.add_option("--checkpoint", verb.checkpointing.path, "Keep the state here while training")
          ->type_name("FILE")
          ->group(kGroup);
  app.add_option("--checkpoint-every", verb.checkpointing.every, "Iterations between checkpoints")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->needs(checkpoint)
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--resume", verb.resume, "Go on from a checkpoint or model, with its parameters")
      ->type_name("FILE")
      ->group(kGroup);
  app.add_option("--add-to", verb.add_to,
                 "Neighbourhoods: add RATINGS to what this model was trained on, and compare anew "
                 "only what changes; parameters are the model's")
      ->type_name("MODEL")
      ->group(kGroup);
  app.add_option("--report", verb.report, "Write a page with charts and sample recommendations")
      ->type_name("FILE.html")
      ->group(kGroup);
  app.add_flag("-v,--verbose", verb.verbose, "Also say how a card is used")->group(kGroup);
  app.add_flag("--json", verb.json, "Print one object: sizes, times, objective per iteration")
      ->group(kGroup);
}

}  // namespace

Run add_train(CLI::App& app) {
  auto verb = std::make_shared<Train>();
  app.add_option("RATINGS", verb->ratings, "Interactions: user, item [, value] [, time]")
      ->required();
  app.add_option("-o,--output", verb->output, "The model file to write")
      ->type_name("MODEL")
      ->required();
  add_choice<std::string>(
      app, "--algorithm",
      {{"als", "als"}, {"item-knn", "item-knn"}, {"user-knn", "user-knn"}, {"popular", "popular"}},
      verb->algorithm,
      "Matrix factorisation, nearest items, nearest users, or the popularity "
      "baseline");
  verb->training.add(app);
  verb->neighbourhood.add(app);
  add_device_options(app, verb->common);
  add_keeping_options(app, *verb);
  add_reading_options(app, verb->reading);
  app.footer(
      "Examples:\n"
      "  likewise train plays.csv -o model.safetensors --factors 128 --alpha 10\n"
      "  likewise train ratings.csv -o model.safetensors --feedback explicit --report report.html\n"
      "  likewise train plays.csv -o model.safetensors --algorithm item-knn --similarity bm25\n"
      "  likewise train parts/train.csv -o model.safetensors --validation parts/test.csv \\\n"
      "      --iterations 50 --patience 3 --checkpoint state.safetensors");
  return on_threads(verb);
}

}  // namespace likewise::cli
