// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "likewise/evaluation.h"
#include "options/features.h"
#include "options/options.h"
#include "options/paths.h"
#include "options/training_options.h"
#include "output/rows.h"
#include "verb.h"

namespace likewise::cli {
namespace {

/// "ndcg@10" -> {"ndcg", "@10"}; "rmse" -> {"rmse", ""}.
std::pair<std::string, std::string> at_k(const std::string& metric) {
  const std::size_t at = metric.find('@');
  return at == std::string::npos ? std::pair(metric, std::string())
                                 : std::pair(metric.substr(0, at), metric.substr(at));
}

/// One row per name, one column per list length; metrics without one stand in a column of their
/// own.
std::string metrics_table(const EvaluationReport& report, const std::vector<Index>& ks) {
  std::vector<std::string> columns;
  for (const Index k : ks) {
    std::string column = fmt::format("@{}", k);
    if (std::ranges::find(columns, column) == columns.end()) columns.push_back(std::move(column));
  }
  std::map<std::string, std::map<std::string, double>> cells;
  bool plain = false;
  bool ranked = false;
  for (const auto& [metric, value] : report.metrics) {
    const auto [name, k] = at_k(metric);
    cells[name][k] = value;
    (k.empty() ? plain : ranked) = true;
  }
  if (!ranked) columns.clear();
  if (plain) columns.insert(columns.begin(), "");
  std::vector<std::string> header{"metric"};
  for (const std::string& column : columns) header.push_back(column.empty() ? "value" : column);
  TextTable table(std::move(header));
  for (const auto& [name, values] : cells) {
    std::vector<std::string> row{name};
    for (const std::string& column : columns) {
      const auto found = values.find(column);
      row.push_back(found == values.end() ? "" : fmt::format("{:.4f}", found->second));
    }
    table.add(std::move(row));
  }
  return table.text();
}

struct Evaluate {
  const CLI::App* given = nullptr;
  std::string model_path;
  std::string test_path;
  std::string train_path;
  std::string candidates_path;
  std::string per_user_path;
  EvaluateOptions options;
  std::optional<bool> clip;
  bool new_items = false;
  bool json = false;
  ReadOptions reading;
  Common common;

  void run() {
    check_paths({{"MODEL", model_path},
                 {"TEST", test_path},
                 {"--train", train_path},
                 {"--candidates", candidates_path},
                 {"--per-user", per_user_path, PathUse::kRows},
                 {"the metrics on standard output", "-", PathUse::kOutput}});
    options.per_user = !per_user_path.empty();
    Progress progress(common.quiet);
    progress.stage("load");
    const auto model = std::make_shared<const Model>(load_model(model_path));
    check_options(*model);
    const Device device =
        announced_device(common, progress, evaluation_jobs(*model, with_candidates()));
    const TestSet test =
        make_test_set(*model, read_with_report(test_path, test_reading(*model), progress));
    CsrMatrix seen;
    if (!train_path.empty()) {
      ReadOptions pairs = reading;
      pairs.values = Values::kUnused;
      seen = make_test_set(*model, read_with_report(train_path, pairs, progress)).by_user;
    }
    CsrMatrix candidates;
    if (!candidates_path.empty()) {
      const Interactions pairs =
          read_with_report(candidates_path, reading_of_pairs(reading), progress, "read candidates");
      candidates = make_test_set(*model, pairs).by_user;
    }
    progress.stage("evaluate");
    const Recommender recommender(model, device, clip);
    EvaluateOptions how = options;
    const std::vector<Index> cold = new_items ? new_items_of(*model) : std::vector<Index>();
    how.items = cold;
    const CsrView view = candidates.view();
    if (!candidates_path.empty()) how.candidates = &view;
    const EvaluationReport report =
        evaluate(recommender, test, how, seen.view(), progress.control());
    const double seconds = progress.finish().back().seconds;
    say_device_memory(device, recommender, progress);
    if (const std::string advice = advice_on_lists(*model);
        report.users_evaluated > 0 && !advice.empty()) {
      progress.say(spelled(advice, as_option));
    }
    if (train_path.empty()) {
      const std::string advice = advice_on_history(*model, report);
      if (!advice.empty()) progress.warn("warning: " + advice);
    }
    if (options.per_user) write_per_user(*model, report);
    print_result(json ? as_json(report, test, seconds) : as_text(report, test, seconds));
  }

  /// The options, with candidates that have not been read.
  [[nodiscard]] EvaluateOptions with_candidates() const {
    static const CsrView none;
    EvaluateOptions how = options;
    if (!candidates_path.empty()) how.candidates = &none;
    static constexpr Index kSome[] = {0};
    if (new_items) how.items = kSome;
    return how;
  }

  void check_options(const Model& model) const {
    EvaluateOptions of_all = options;
    of_all.negatives = 0;
    const MetricNeeds needs = needs_of(model, of_all);
    check_few_items(*given, "--candidates", "--negatives", options.negatives);
    refuse_idle(*given, "--seed", given->count("--negatives") > 0, "--negatives");
    refuse_idle(*given, "--clip", needs.ratings, "--metrics with rmse or mae");
    constexpr const char* kRanking = "--metrics with one that ranks, as ndcg";
    refuse_idle(*given, "-k", needs.lists, "--metrics with one of lists, as ndcg");
    for (const char* option :
         {"--train", "--candidates", "--negatives", "--min-relevant-value", "--per-user"}) {
      refuse_idle(*given, option, needs.ranking, kRanking);
    }
  }

  /// Predicted ratings are compared with true ones, which have to be there.
  [[nodiscard]] ReadOptions test_reading(const Model& model) const {
    const bool rates = std::ranges::any_of(options.metrics, [](const std::string& metric) {
      return metric == "rmse" || metric == "mae";
    });
    const bool usually = options.metrics.empty() && model.feedback() == Feedback::kExplicit;
    return reading_for(rates || usually ? Feedback::kExplicit : Feedback::kImplicit, reading);
  }

  void write_per_user(const Model& model, const EvaluationReport& report) const {
    std::vector<std::string> columns{"user"};
    for (const auto& [metric, values] : report.per_user) columns.push_back(metric);
    RowWriter rows(per_user_path, columns);
    for (std::size_t u = 0; u < report.users.size(); ++u) {
      const std::string name = model.users.name(report.users[u]);
      std::vector<Cell> cells{name};
      for (const auto& [metric, values] : report.per_user) cells.emplace_back(values[u]);
      rows.row(cells);
    }
    rows.finish();
  }

  [[nodiscard]] std::string as_text(const EvaluationReport& report, const TestSet& test,
                                    double seconds) const {
    std::string text = metrics_table(report, options.k) + "\n";
    if (report.users_evaluated > 0) {
      text += counted(report.users_evaluated, "user") + " ranked";
      if (report.users_without_history > 0) {
        text += fmt::format(" ({} of them without a history)",
                            with_commas(report.users_without_history));
      }
    }
    if (report.pairs_evaluated > 0) {
      text += fmt::format("{}{} rated", report.users_evaluated > 0 ? ", " : "",
                          counted(report.pairs_evaluated, "pair"));
    }
    text += fmt::format(" in {}\n", duration(seconds));
    if (report.relevant_seen > 0) {
      text += fmt::format("{} left out: known from training\n",
                          counted(report.relevant_seen, "test row"));
    }
    if (report.users_without_candidates > 0) {
      text += fmt::format("{} left out: without candidates\n",
                          counted(report.users_without_candidates, "user"));
    }
    if (report.relevant_no_candidates > 0) {
      text += fmt::format("{} of {} relevant items are no candidates, and so misses\n",
                          with_commas(report.relevant_no_candidates),
                          with_commas(report.relevant_items));
    }
    if (test.unknown_users > 0 || test.unknown_items > 0) {
      const bool ranked = report.users_evaluated > 0;
      const bool rated = report.pairs_evaluated > 0;
      text += fmt::format("not in the model: {} by user, {} by item ({}{}{})\n",
                          counted(test.unknown_users, "test row"),
                          counted(test.unknown_items, "test row"), ranked ? "not ranked" : "",
                          ranked && rated ? ", " : "",
                          rated ? "rated by what is known of the other side" : "");
    }
    return text;
  }

  [[nodiscard]] static std::string as_json(const EvaluationReport& report, const TestSet& test,
                                           double seconds) {
    nlohmann::ordered_json out;
    for (const auto& [metric, value] : report.metrics) out[metric] = value;
    out["users_evaluated"] = report.users_evaluated;
    out["users_without_history"] = report.users_without_history;
    out["relevant_items"] = report.relevant_items;
    out["relevant_seen"] = report.relevant_seen;
    out["users_without_candidates"] = report.users_without_candidates;
    out["relevant_no_candidates"] = report.relevant_no_candidates;
    out["pairs_evaluated"] = report.pairs_evaluated;
    out["unknown_users"] = test.unknown_users;
    out["unknown_items"] = test.unknown_items;
    out["seconds"] = seconds;
    return out.dump(2) + "\n";
  }
};

}  // namespace

Run add_evaluate(CLI::App& app) {
  auto verb = std::make_shared<Evaluate>();
  add_path(app, "MODEL", verb->model_path, "A model file")->required();
  add_path(app, "TEST", verb->test_path, "Held-out interactions")->required();
  add_path(app, "--train", verb->train_path,
           "Leave out the items of these interactions from rankings, instead of the model's own "
           "history")
      ->type_name("RATINGS");
  add_path(app, "--candidates", verb->candidates_path,
           "Rank only these items of each user: pairs of user,item, those to find among them")
      ->type_name("FILE");
  app.add_flag("--new-items", verb->new_items,
               "Rank, and find, only items that nobody has touched, which the model knows by their "
               "features");
  add_number(app, "--negatives", verb->options.negatives,
             "Rank each held-out item among N random items that the user has not seen");
  add_number(app, "--seed", verb->options.seed, "Of --negatives: same seed, same items")
      ->capture_default_str();
  add_measures(app, verb->options);
  add_clip_option(app, verb->clip);
  add_path(app, "--per-user", verb->per_user_path, "Also write every user's values to this file")
      ->type_name("FILE");
  app.add_flag("--json", verb->json, "Print one object with a key per metric");
  add_device_options(app, verb->common);
  add_reading_options(app, verb->reading);
  app.footer(
      "Examples:\n"
      "  likewise evaluate model.safetensors parts/test.csv -k 10,20\n"
      "  likewise evaluate model.safetensors parts/test.csv --metrics ndcg,recall --json\n"
      "  likewise evaluate model.safetensors last/test.csv --metrics hit_rate,ndcg --negatives "
      "100");
  verb->given = &app;
  return on_threads(verb);
}

}  // namespace likewise::cli
