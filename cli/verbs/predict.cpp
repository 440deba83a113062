// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
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

/// Pairs per call of the recommender.
constexpr Offset kBatch = 65'536;
/// New users per call.
constexpr std::size_t kNewUsers = 64;

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

/// The pairs of a file, to be predicted.
class Task {
 public:
  Task(const Recommender& recommender, const Pairs& pairs, const Strangers& strangers)
      : recommender_(recommender),
        pairs_(pairs),
        strangers_(strangers),
        users_(translate(pairs.users, recommender.model().users)),
        items_(translate(pairs.items, recommender.model().items)) {
    group_by_user();
  }

  /// Beside the pairs.
  [[nodiscard]] std::vector<float> predict(Progress& progress) const {
    const RunControl control = progress.control();
    std::vector<float> predicted(by_user_.size());
    std::vector<Offset> known;
    std::vector<Index> waiting;  // strangers
    Offset done = 0;
    for (Index u = 0; u < pairs_.users.size(); ++u) {
      if (stranger(u) != nullptr) {
        waiting.push_back(u);
      } else {
        known.insert(known.end(), pairs_of(u).begin(), pairs_of(u).end());
      }
      const bool last = u + 1 == pairs_.users.size();
      if (waiting.size() == kNewUsers || last) predict_new(waiting, predicted);
      while (std::ssize(known) >= kBatch || (last && !known.empty())) {
        control.check();
        predict_known(known, predicted, control);
      }
      done += std::ssize(pairs_of(u));
      control.report("predict", done, std::ssize(by_user_), "pairs");
    }
    return predicted;
  }

  /// How many name a user or an item that nothing is known of.
  [[nodiscard]] Offset unknown() const {
    Offset count = 0;
    for (Index u = 0; u < pairs_.users.size(); ++u) {
      const bool lost = users_[static_cast<std::size_t>(u)] < 0 && stranger(u) == nullptr;
      for (const Offset p : pairs_of(u)) count += lost || item(p) < 0 ? 1 : 0;
    }
    return count;
  }

 private:
  void group_by_user() {
    const Offset total = pairs_.user_of.size();
    begins_.assign(static_cast<std::size_t>(pairs_.users.size()) + 1, 0);
    for (const Index u : pairs_.user_of) ++begins_[static_cast<std::size_t>(u) + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    by_user_.resize(static_cast<std::size_t>(total));
    std::vector<Offset> next(begins_.begin(), begins_.end() - 1);
    for (Offset p = 0; p < total; ++p) {
      const auto user = static_cast<std::size_t>(pairs_.user_of[p]);
      by_user_[static_cast<std::size_t>(next[user]++)] = p;
    }
  }

  [[nodiscard]] std::span<const Offset> pairs_of(Index user) const {
    const auto u = static_cast<std::size_t>(user);
    return std::span(by_user_).subspan(static_cast<std::size_t>(begins_[u]),
                                       static_cast<std::size_t>(begins_[u + 1] - begins_[u]));
  }
  /// Of a pair in the model; -1: not there.
  [[nodiscard]] Index item(Offset pair) const {
    return items_[static_cast<std::size_t>(pairs_.item_of[pair])];
  }
  [[nodiscard]] const FoldInRow* stranger(Index user) const {
    return strangers_.find(pairs_.users.name(user));
  }

  /// The first kBatch of the pairs, which leave the list.
  void predict_known(std::vector<Offset>& known, std::vector<float>& predicted,
                     const RunControl& control) const {
    const auto count = std::min(static_cast<std::size_t>(kBatch), known.size());
    std::vector<Index> users(count);
    std::vector<Index> items(count);
    for (std::size_t i = 0; i < count; ++i) {
      users[i] = users_[static_cast<std::size_t>(pairs_.user_of[known[i]])];
      items[i] = item(known[i]);
    }
    const std::vector<float> values = recommender_.predict(users, items, {control.cancel, {}});
    for (std::size_t i = 0; i < count; ++i) {
      predicted[static_cast<std::size_t>(known[i])] = values[i];
    }
    known.erase(known.begin(), known.begin() + static_cast<Offset>(count));
  }

  /// All pairs of these strangers, who leave the list.
  void predict_new(std::vector<Index>& waiting, std::vector<float>& predicted) const {
    if (waiting.empty()) return;
    std::vector<FoldInRow> asked;
    std::vector<Index> wanted;
    for (const Index u : waiting) {
      asked.push_back(*stranger(u));
      for (const Offset p : pairs_of(u)) {
        if (item(p) >= 0) wanted.push_back(item(p));
      }
    }
    std::ranges::sort(wanted);
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    const std::vector<float> values = naming_rows(
        [&](Offset row) {
          return "user " + pairs_.users.name(waiting[static_cast<std::size_t>(row)]);
        },
        [&] { return recommender_.predict_new(asked, wanted); });
    const float nothing_known =
        recommender_.predict(std::vector<Index>{-1}, std::vector<Index>{-1})[0];
    for (std::size_t w = 0; w < waiting.size(); ++w) {
      for (const Offset p : pairs_of(waiting[w])) {
        const auto at = std::ranges::lower_bound(wanted, item(p)) - wanted.begin();
        predicted[static_cast<std::size_t>(p)] =
            item(p) < 0 ? nothing_known : values[w * wanted.size() + static_cast<std::size_t>(at)];
      }
    }
    waiting.clear();
  }

  const Recommender& recommender_;
  const Pairs& pairs_;
  const Strangers& strangers_;
  std::vector<Index> users_;  ///< of the file in the model, -1 where unknown
  std::vector<Index> items_;
  std::vector<Offset> begins_;   ///< by user of the file: the first of its pairs in by_user_
  std::vector<Offset> by_user_;  ///< pairs
};

struct Predict {
  const CLI::App* given = nullptr;
  std::string model_path;
  std::string pairs_path;
  std::string new_path;
  bool all_missing = false;
  std::optional<bool> clip;
  std::string output = "-";
  ReadOptions reading;
  Common common;

  void run() const {
    refuse_idle_reading(*given, !all_missing, "PAIRS to read");
    check_paths({{"MODEL", model_path},
                 {"PAIRS", pairs_path},
                 {"--new", new_path},
                 {"-o", output, PathUse::kRows}});
    Progress progress(common.quiet);
    progress.stage("load");
    const auto model = std::make_shared<const Model>(load_model(model_path));
    refuse_idle(*given, "--clip", model->predicts_ratings(),
                "a model that predicts ratings, as those of explicit feedback");
    std::vector<Job> jobs;
    if (const auto job = predictions_job(model->params)) jobs.push_back(*job);
    if (!new_path.empty()) jobs.push_back(lists_job(model->params));
    const Device device = announced_device(common, progress, jobs);
    const Recommender recommender(model, device, clip);
    if (all_missing) return predict_missing(recommender, device, progress);
    const Pairs pairs = read_pairs_with_report(pairs_path, reading, progress);
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

  /// Writes the rows in the order of the file. They are predicted user by user, which is faster.
  void predict_all(const Recommender& recommender, const Pairs& pairs, const Strangers& strangers,
                   Progress& progress) const {
    const Task task(recommender, pairs, strangers);
    const std::vector<float> predicted = task.predict(progress);
    RowWriter rows(output, {"user", "item", "prediction"});
    const RunControl control = progress.control();
    for (Offset p = 0; p < pairs.user_of.size(); ++p) {
      if (p % kBatch == 0) control.check();
      rows.row({pairs.users.name(pairs.user_of[p]), pairs.items.name(pairs.item_of[p]),
                predicted[static_cast<std::size_t>(p)]});
    }
    rows.finish();
    say_written(output, counted(rows.rows(), "prediction"), progress);
    if (task.unknown() > 0) {
      progress.say(
          fmt::format("{} name a user or item that is not in the model: predicted from what "
                      "is known of the other side",
                      counted(task.unknown(), "row")));
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
      "A model of popular that learnt from ratings predicts none: train with --algorithm bias.\n\n"
      "Examples:\n"
      "  likewise predict model.safetensors parts/test.csv -o predictions.csv\n"
      "  likewise predict model.safetensors pairs.csv.gz > predictions.csv\n"
      "  likewise predict model.safetensors pairs.csv --new ratings_of_new_users.csv\n"
      "  likewise predict model.safetensors --all-missing -o all.csv.gz");
  verb->given = &app;
  return on_threads(verb);
}

}  // namespace likewise::cli
