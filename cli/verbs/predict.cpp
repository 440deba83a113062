// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <sys/resource.h>
#include <unordered_map>

#include <fmt/format.h>

#include "likewise/recommender.h"
#include "options/ids.h"
#include "options/new_users.h"
#include "options/options.h"
#include "options/paths.h"
#include "output/rows.h"
#include "verb.h"

namespace likewise::cli {
namespace {

/// Pairs per call of the recommender: bounds the memory, whatever the file.
constexpr std::size_t kBatch = 65'536;
/// New users per call.
constexpr std::size_t kNewUsers = 64;

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

/// Users who were not trained, by name.
class Strangers {
 public:
  Strangers() = default;
  explicit Strangers(NewUsers users) : users_(std::move(users)) {
    for (std::size_t u = 0; u < users_.names.size(); ++u) numbers_.emplace(users_.names[u], u);
  }
  /// Null for anybody else.
  [[nodiscard]] const FoldInRow* find(const std::string& name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? nullptr : &users_.rows[found->second];
  }

 private:
  NewUsers users_;
  std::unordered_map<std::string, std::size_t> numbers_;
};

struct Predict {
  const CLI::App* given = nullptr;
  std::string model_path;
  std::string pairs_path;
  std::string new_path;
  bool all_missing = false;
  std::string output = "-";
  ReadOptions reading;
  Common common;

  void run() const {
    refuse_idle_reading(*given, !all_missing, "PAIRS to read");
    check_paths({{"MODEL", model_path},
                 {"PAIRS", pairs_path},
                 {"--new", new_path},
                 {"-o", output, PathUse::kOutput}});
    Progress progress(common.quiet);
    progress.stage("load");
    const auto model = std::make_shared<const Model>(load_model(model_path));
    std::vector<Job> jobs;
    if (const auto job = predictions_job(model->params)) jobs.push_back(*job);
    if (!new_path.empty()) jobs.push_back(lists_job(model->params));
    const Device device = announced_device(common, progress, jobs);
    const Recommender recommender(model, device);
    if (all_missing) return predict_missing(recommender, device, progress);
    const Interactions pairs = read_with_report(pairs_path, reading, progress);
    const Strangers strangers =
        new_path.empty() ? Strangers() : Strangers(read_new_users(*model, new_path, progress));
    progress.stage("predict");
    predict_all(recommender, pairs, strangers, progress);
    say_device_memory(device, recommender, progress);
  }

  /// Says how long each stage took, and the most memory that was ever held.
  void predict_missing(const Recommender& recommender, const Device& device,
                       Progress& progress) const {
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
    say_device_memory(device, recommender, progress);
  }

  void predict_all(const Recommender& recommender, const Interactions& pairs,
                   const Strangers& strangers, Progress& progress) const {
    const Model& model = recommender.model();
    const std::vector<Index> users = translate(pairs.users, model.users);
    const std::vector<Index> items = translate(pairs.items, model.items);
    RowWriter rows(output, {"user", "item", "prediction"});
    Batch batch;
    std::vector<Index> waiting;  // strangers, as users of the file
    Offset unknown = 0;
    const CsrView view = pairs.by_user.view();
    for (Index u = 0; u < view.rows; ++u) {
      const bool stranger = strangers.find(pairs.users.name(u)) != nullptr;
      for (const Index i : view.row_columns(u)) {
        const Index item = items[static_cast<std::size_t>(i)];
        if (item < 0 || (!stranger && users[static_cast<std::size_t>(u)] < 0)) ++unknown;
      }
      // Rows keep the order of the file's users.
      if (stranger) {
        write(recommender, pairs, batch, rows, progress);
        waiting.push_back(u);
      }
      if (!stranger || waiting.size() == kNewUsers) {
        write_new(recommender, pairs, strangers, items, waiting, rows, progress);
      }
      if (stranger) continue;
      for (const Index i : view.row_columns(u)) {
        batch.file_users.push_back(u);
        batch.file_items.push_back(i);
        batch.users.push_back(users[static_cast<std::size_t>(u)]);
        batch.items.push_back(items[static_cast<std::size_t>(i)]);
        if (batch.users.size() == kBatch) write(recommender, pairs, batch, rows, progress);
      }
    }
    write(recommender, pairs, batch, rows, progress);
    write_new(recommender, pairs, strangers, items, waiting, rows, progress);
    rows.finish();
    say_written(output, counted(rows.rows(), "prediction"), progress);
    if (unknown > 0) {
      progress.say(
          fmt::format("{} name a user or item that is not in the model: predicted from what "
                      "is known of the other side",
                      counted(unknown, "row")));
    }
  }

  /// `items`: of the file in the model. Empties `waiting`.
  static void write_new(const Recommender& recommender, const Interactions& pairs,
                        const Strangers& strangers, const std::vector<Index>& items,
                        std::vector<Index>& waiting, RowWriter& rows, Progress& progress) {
    if (waiting.empty()) return;
    const RunControl control = progress.control();
    control.check();
    const CsrView view = pairs.by_user.view();
    std::vector<FoldInRow> asked;
    std::vector<Index> wanted;
    for (const Index u : waiting) {
      asked.push_back(*strangers.find(pairs.users.name(u)));
      for (const Index i : view.row_columns(u)) {
        const Index item = items[static_cast<std::size_t>(i)];
        if (item >= 0) wanted.push_back(item);
      }
    }
    std::ranges::sort(wanted);
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    const std::vector<float> values = naming_rows(
        [&](Offset row) {
          return "user " + pairs.users.name(waiting[static_cast<std::size_t>(row)]);
        },
        [&] { return recommender.predict_new(asked, wanted); });
    const float nothing_known =
        recommender.predict(std::vector<Index>{-1}, std::vector<Index>{-1})[0];
    for (std::size_t w = 0; w < waiting.size(); ++w) {
      const std::string name = pairs.users.name(waiting[w]);
      for (const Index i : view.row_columns(waiting[w])) {
        const Index item = items[static_cast<std::size_t>(i)];
        const auto at = std::ranges::lower_bound(wanted, item) - wanted.begin();
        const float value =
            item < 0 ? nothing_known : values[w * wanted.size() + static_cast<std::size_t>(at)];
        rows.row({name, pairs.items.name(i), value});
      }
    }
    control.report("predict", rows.rows(), pairs.by_user.nnz(), "pairs");
    waiting.clear();
  }

  static void write(const Recommender& recommender, const Interactions& pairs, Batch& batch,
                    RowWriter& rows, Progress& progress) {
    if (batch.users.empty()) return;
    const RunControl control = progress.control();
    control.check();
    const std::vector<float> values =
        recommender.predict(batch.users, batch.items, {control.cancel, {}});
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
  add_row_options(app, verb->output, verb->common);
  add_format_options(app, verb->reading);
  verb->reading.values = Values::kUnused;
  app.footer(
      "Prints user,item,prediction, sorted by user and item; a repeated pair comes once. Users or\n"
      "items that the model does not know get what it knows without them (its mean and the other\n"
      "side's bias), and are counted. --all-missing goes item by item where item-knn predicts\n"
      "ratings, else user by user, and says how long each stage took. A model of popular that\n"
      "learnt from ratings predicts none: train with --algorithm bias.\n\n"
      "Examples:\n"
      "  likewise predict model.safetensors parts/test.csv -o predictions.csv\n"
      "  likewise predict model.safetensors pairs.csv.gz > predictions.csv\n"
      "  likewise predict model.safetensors pairs.csv --new ratings_of_new_users.csv\n"
      "  likewise predict model.safetensors --all-missing -o all.csv.gz");
  verb->given = &app;
  return on_threads(verb);
}

}  // namespace likewise::cli
