// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <sys/resource.h>

#include <fmt/format.h>

#include "likewise/query.h"
#include "options/options.h"
#include "options/paths.h"
#include "options/visitors.h"
#include "output/rows.h"
#include "verb.h"

namespace likewise::cli {
namespace {

/// Rows written between two looks at whether to stop.
constexpr Offset kBatch = 65'536;

/// The most bytes of memory that this process ever held.
Offset peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return Offset{usage.ru_maxrss} * 1024;
}

struct Predict {
  const CLI::App* given = nullptr;
  std::string model_path;
  std::string pairs_path;
  std::string new_path;
  bool all_missing = false;
  std::optional<bool> clip;
  RowOutput output;
  ReadOptions reading;
  Common common;

  void run() const {
    refuse_idle_reading(*given, !all_missing, "PAIRS to read");
    check_paths({{"MODEL", model_path},
                 {"PAIRS", pairs_path},
                 {"--new", new_path},
                 {"-o", output.path, PathUse::kRows}});
    check_json(output);
    Progress progress(common.quiet);
    progress.stage("load");
    const auto model = std::make_shared<const Model>(load_model(model_path));
    refuse_idle(*given, "--clip", model->predicts_ratings(),
                "a model that predicts ratings, as those of explicit feedback");
    std::vector<Job> jobs;
    if (const auto job = predictions_job(model->params)) jobs.push_back(*job);
    if (!new_path.empty()) jobs.push_back(lists_job(model->params));
    const Device device = announced_device(common, progress, jobs);
    const Queries queries(model, device, {}, clip);
    if (all_missing) return predict_missing(queries.recommender(), device, progress);
    const Pairs pairs = read_pairs_with_report(pairs_path, reading, progress);
    const Visitors visitors =
        new_path.empty() ? Visitors{} : read_visitors(*model, new_path, {}, progress);
    progress.stage("predict");
    predict_all(queries, pairs, visitors, progress);
    say_device_memory(device, queries.recommender(), progress);
  }

  /// Says how long each stage took, and the most memory that was ever held.
  void predict_missing(const Recommender& recommender, const Device& device,
                       Progress& progress) const {
    const Model& model = recommender.model();
    progress.stage("predict");
    RowWriter rows(output.path, {"user", "item", "prediction"}, output.json);
    const auto take = [&](Side side, Index row, std::span<const Index> others,
                          std::span<const float> values) {
      const IdMap& names = side == Side::kUsers ? model.users : model.items;
      const IdMap& other_names = side == Side::kUsers ? model.items : model.users;
      const std::string name = names.name(row);
      for (std::size_t e = 0; e < others.size(); ++e) {
        const std::string other = other_names.name(others[e]);
        side == Side::kUsers ? rows.row({name, other, values[e]})
                             : rows.row({other, name, values[e]});
      }
    };
    const PredictionTimes times = recommender.predict_missing(take, progress.control());
    rows.finish();
    const double loading = progress.finish().front().seconds;
    say_written(output.path, counted(rows.rows(), "prediction"), progress);
    progress.say(fmt::format("time: load {}, magnitudes {}, similarities {}, predict {}, write {}",
                             duration(loading), duration(times.magnitudes),
                             duration(times.similarities), duration(times.predictions),
                             duration(times.output)));
    progress.say(fmt::format("memory: {} MiB at most", with_commas(peak_memory() >> 20)));
    say_device_memory(device, recommender, progress);
  }

  /// Writes the rows in the order of the file. They are predicted user by user, which is faster.
  void predict_all(const Queries& queries, const Pairs& pairs, const Visitors& visitors,
                   Progress& progress) const {
    const PairPredictions predicted = queries.predict(pairs, visitors, progress.control());
    RowWriter rows(output.path, {"user", "item", "prediction"}, output.json);
    const RunControl control = progress.control();
    for (Offset p = 0; p < pairs.user_of.size(); ++p) {
      if (p % kBatch == 0) control.check();
      rows.row({pairs.users.name(pairs.user_of[p]), pairs.items.name(pairs.item_of[p]),
                predicted.values[static_cast<std::size_t>(p)]});
    }
    rows.finish();
    say_written(output.path, counted(rows.rows(), "prediction"), progress);
    if (predicted.unknown > 0) {
      progress.say(
          fmt::format("{} with a user or item that is not in the model: predicted from what "
                      "is known of the other side",
                      counted(predicted.unknown, "row")));
    }
  }
};

}  // namespace

Run add_predict(CLI::App& app) {
  auto verb = std::make_shared<Predict>();
  add_path(app, "MODEL", verb->model_path, "A model file")->required();
  auto* pairs =
      add_path(app, "PAIRS", verb->pairs_path, "Rows of user, item, read like interactions");
  auto* missing = app.add_flag("--all-missing", verb->all_missing,
                               "Every user and item that have no value together: users x items "
                               "rows, streamed");
  require_one(app, {pairs, missing});
  add_path(app, "--new", verb->new_path,
           "Users who were not trained: their interactions, as for train; they are predicted "
           "from these")
      ->type_name("RATINGS")
      ->needs(pairs);
  add_clip_option(app, verb->clip);
  add_row_options(app, verb->output, verb->common);
  add_format_options(app, verb->reading);
  verb->reading.values = Values::kUnused;
  app.footer(
      "Prints user,item,prediction for each row of PAIRS, in its order. Users or items that the "
      "model\n"
      "does not know get what it knows without them (its mean and the other side's bias), and are\n"
      "counted. Ratings stay within the scale of the training values, from the smallest to the\n"
      "largest, unless --clip off, or training with it, says otherwise. --all-missing goes item "
      "by\n"
      "item where item-knn predicts ratings, else user by user, and says how long each stage "
      "took.\n"
      "A model of popular that learned from ratings predicts none: train with --algorithm bias.\n\n"
      "Examples:\n"
      "  likewise predict model.safetensors parts/test.csv -o predictions.csv\n"
      "  likewise predict model.safetensors pairs.csv.gz > predictions.csv\n"
      "  likewise predict model.safetensors pairs.csv --new ratings_of_new_users.csv\n"
      "  likewise predict model.safetensors --all-missing -o all.csv.gz");
  verb->given = &app;
  return on_threads(verb);
}

}  // namespace likewise::cli
