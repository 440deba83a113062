// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <sys/resource.h>

#include <fmt/format.h>

#include "likewise/recommender.h"
#include "options.h"
#include "rows.h"
#include "verb.h"

namespace likewise::cli {
namespace {

/// Pairs per call of the recommender: bounds the memory, whatever the file.
constexpr std::size_t kBatch = 65'536;

struct Batch {
  std::vector<Index> users;  ///< in the model, -1 where unknown
  std::vector<Index> items;
  std::vector<Index> file_users;  ///< in the file
  std::vector<Index> file_items;

  void clear() {
    for (auto* list : {&users, &items, &file_users, &file_items}) list->clear();
  }
};

/// The most bytes of memory that this process ever held.
Offset peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return Offset{usage.ru_maxrss} * 1024;
}

/// Where each id of the file is in the model, -1 where it is not.
std::vector<Index> translate(const IdMap& from, const IdMap& to) {
  std::vector<Index> table(static_cast<std::size_t>(from.size()));
  for (Index i = 0; i < from.size(); ++i) {
    table[static_cast<std::size_t>(i)] = to.find(from.name(i)).value_or(-1);
  }
  return table;
}

struct Predict {
  std::string model_path;
  std::string pairs_path;
  bool all_missing = false;
  std::string output = "-";
  ReadOptions reading;
  Common common;

  void run() const {
    check_output_folder(output);
    Progress progress(common.quiet);
    progress.stage("load");
    const auto model = std::make_shared<const Model>(load_model(model_path));
    const auto backend = open_device(common, progress);
    if (all_missing) return predict_missing(Recommender(model, backend), progress);
    const Interactions pairs = read_with_report(pairs_path, reading, progress);
    progress.stage("predict");
    predict_all(Recommender(model, backend), pairs, progress);
  }

  /// Says how long each stage took, and the most memory that was ever held.
  void predict_missing(const Recommender& recommender, Progress& progress) const {
    const Model& model = recommender.model();
    progress.stage("predict");
    RowWriter rows(output, {"user", "item", "prediction"});
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
    say_written(output, counted(rows.rows(), "prediction"), progress);
    progress.say(fmt::format("time: load {}, magnitudes {}, similarities {}, predict {}, write {}",
                             duration(loading), duration(times.magnitudes),
                             duration(times.similarities), duration(times.predictions),
                             duration(times.output)));
    progress.say(fmt::format("memory: {} MiB at most", with_commas(peak_memory() >> 20)));
  }

  void predict_all(const Recommender& recommender, const Interactions& pairs,
                   Progress& progress) const {
    const Model& model = recommender.model();
    const std::vector<Index> users = translate(pairs.users, model.users);
    const std::vector<Index> items = translate(pairs.items, model.items);
    RowWriter rows(output, {"user", "item", "prediction"});
    Batch batch;
    Offset unknown = 0;
    const CsrView view = pairs.by_user.view();
    for (Index u = 0; u < view.rows; ++u) {
      for (const Index i : view.row_columns(u)) {
        batch.file_users.push_back(u);
        batch.file_items.push_back(i);
        batch.users.push_back(users[static_cast<std::size_t>(u)]);
        batch.items.push_back(items[static_cast<std::size_t>(i)]);
        if (batch.users.back() < 0 || batch.items.back() < 0) ++unknown;
        if (batch.users.size() == kBatch) write(recommender, pairs, batch, rows, progress);
      }
    }
    write(recommender, pairs, batch, rows, progress);
    rows.finish();
    say_written(output, counted(rows.rows(), "prediction"), progress);
    if (unknown > 0) {
      progress.say(
          fmt::format("{} name a user or item that is not in the model: predicted from what "
                      "is known of the other side",
                      counted(unknown, "row")));
    }
  }

  static void write(const Recommender& recommender, const Interactions& pairs, Batch& batch,
                    RowWriter& rows, Progress& progress) {
    const RunControl control = progress.control();
    control.check();
    const std::vector<float> values = recommender.predict(batch.users, batch.items);
    for (std::size_t p = 0; p < values.size(); ++p) {
      const std::string user = pairs.users.name(batch.file_users[p]);
      const std::string item = pairs.items.name(batch.file_items[p]);
      rows.row({user, item, values[p]});
    }
    control.report("predict", rows.rows(), pairs.by_user.nnz(), "pairs");
    batch.clear();
  }
};

}  // namespace

Run add_predict(CLI::App& app) {
  auto verb = std::make_shared<Predict>();
  app.add_option("MODEL", verb->model_path, "A model file")->required();
  auto* pairs =
      app.add_option("PAIRS", verb->pairs_path, "Rows of user, item, read like interactions");
  auto* missing = app.add_flag("--all-missing", verb->all_missing,
                               "Every user and item that have no value together: users x items "
                               "rows, streamed");
  require_one(app, {pairs, missing});
  add_row_options(app, verb->output, verb->common);
  add_reading_options(app, verb->reading);
  app.footer(
      "Prints user,item,prediction, sorted by user and item; a repeated pair comes once. Users or\n"
      "items that the model does not know get what it knows without them (its mean and the other\n"
      "side's bias), and are counted. --all-missing goes item by item where item-knn predicts\n"
      "ratings, else user by user, and says how long each stage took.\n\n"
      "Examples:\n"
      "  likewise predict model.safetensors parts/test.csv -o predictions.csv\n"
      "  likewise predict model.safetensors pairs.csv.gz > predictions.csv\n"
      "  likewise predict model.safetensors --all-missing -o all.csv.gz");
  return on_threads(verb);
}

}  // namespace likewise::cli
