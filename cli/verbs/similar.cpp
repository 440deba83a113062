// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "likewise/query.h"
#include "options/options.h"
#include "options/paths.h"
#include "options/titles.h"
#include "options/visitors.h"
#include "output/rows.h"
#include "verb.h"

namespace likewise::cli {
namespace {

struct Similar {
  const CLI::App* given = nullptr;
  std::string model_path;
  std::vector<std::string> item_ids;
  std::vector<std::string> user_ids;
  std::string new_path;
  bool all_items = false;
  bool all_users = false;
  Index n = 10;
  SimilarityMetric metric = SimilarityMetric::kCosine;
  TitlesOption titles_option;
  RowOutput output;
  ReadOptions reading;
  Common common;

  void run() const {
    const bool of_items = all_items || !item_ids.empty();
    refuse_idle(*given, "--titles", of_items, "items: --item or --all-items");
    refuse_idle_titles(*given, titles_option);
    refuse_idle_reading(*given, !new_path.empty(), "--new");
    check_paths({{"MODEL", model_path},
                 {"--new", new_path},
                 {"--titles", titles_option.path},
                 {"-o", output.path, PathUse::kRows}});
    check_json(output);
    Progress progress(common.quiet);
    progress.stage("load");
    const auto model = std::make_shared<const Model>(load_model(model_path));
    refuse_idle(*given, "--metric", new_path.empty() && model->factors() != nullptr,
                "a model with factors: this one has its own similarity");
    const Job lists[] = {lists_job(model->params)};
    const Device device = announced_device(common, progress, lists);
    const Queries queries(model, device,
                          of_items ? titles_for(*model, titles_option, progress) : Titles{});
    const SimilarQuestion question{of_items ? Side::kItems : Side::kUsers,
                                   asked(*model, of_items, queries.titles(), progress), n,
                                   chosen_metric()};
    const char* kind = of_items ? "item" : "user";
    const bool titled = of_items && !queries.titles().empty();
    std::vector<std::string> columns{kind, fmt::format("similar_{}", kind), "rank", "score"};
    if (titled) columns.emplace_back("title");
    RowWriter rows(output.path, columns, output.json);
    progress.stage("similar");
    const QuerySummary found = queries.similar(
        question, [&](const AnswerList& list) { write(list, titled, rows); }, progress.control());
    rows.finish();
    say_written(output.path,
                fmt::format("{} for {}", counted(found.answers, fmt::format("similar {}", kind)),
                            counted(found.asked, new_path.empty() ? kind : "new user")),
                progress);
  }

  [[nodiscard]] Asked asked(const Model& model, bool of_items, const Titles& titles,
                            Progress& progress) const {
    if (!new_path.empty()) return read_visitors(model, new_path, reading, progress);
    if (all_items || all_users) return Everybody{};
    if (!of_items) return rows_of(model.users, user_ids, "user").rows;
    return rows_of(model.items, item_ids, "item", UnknownIds::kRefuse, titles).rows;
  }

  [[nodiscard]] std::optional<SimilarityMetric> chosen_metric() const {
    return given->count("--metric") > 0 ? std::optional(metric) : std::nullopt;
  }

  static void write(const AnswerList& list, bool titled, RowWriter& rows) {
    for (std::size_t r = 0; r < list.answers.size(); ++r) {
      const Answer& answer = list.answers[r];
      std::vector<Cell> cells{list.asked, answer.id, static_cast<std::int64_t>(r) + 1,
                              answer.score};
      if (titled) cells.emplace_back(answer.title);
      rows.row(cells);
    }
  }
};

}  // namespace

Run add_similar(CLI::App& app) {
  auto verb = std::make_shared<Similar>();
  add_path(app, "MODEL", verb->model_path, "A model file")->required();
  auto* item = app.add_option("--item", verb->item_ids, "An item id; may be repeated")
                   ->type_name("ID")
                   ->allow_extra_args(false);
  auto* user = app.add_option("--user", verb->user_ids, "A user id; may be repeated")
                   ->type_name("ID")
                   ->allow_extra_args(false);
  auto* all = app.add_flag("--all-items", verb->all_items, "Every item of the model");
  auto* everybody = app.add_flag("--all-users", verb->all_users, "Every user of the model");
  auto* fresh = add_path(app, "--new", verb->new_path,
                         "user-knn: users who were not trained, by their interactions")
                    ->type_name("RATINGS");
  require_one(app, {item, user, all, everybody, fresh});
  add_number(app, "-n", verb->n, "Answers per item or user", {1, 1'000'000})->capture_default_str();
  add_choice<SimilarityMetric>(app, "--metric",
                               choices_of<SimilarityMetric>(kSimilarityMetricNames), verb->metric,
                               "cosine compares directions; dot also favours large factors; "
                               "euclidean is a distance, and so is hellinger, of models without "
                               "negative factors");
  add_titles_options(app, verb->titles_option,
                     "Items: add a column `title` of the similar one, from a file of item ids and "
                     "titles [the model's own]");
  add_row_options(app, verb->output, verb->common);
  add_reading_options(app, verb->reading);
  app.footer(
      "Prints item,similar_item,rank,score (or user,similar_user,rank,score), best first.\n"
      "With a distance the score is the distance, and the smallest is the best.\n"
      "Where items have titles, the similar one's title follows.\n\n"
      "Examples:\n"
      "  likewise similar model.safetensors --item 17 -n 5\n"
      "  likewise similar model.safetensors --all-items -n 20 -o similar.csv.gz\n"
      "  likewise similar model.safetensors --all-users --metric euclidean -o users.csv.gz");
  verb->given = &app;
  return on_threads(verb);
}

}  // namespace likewise::cli
