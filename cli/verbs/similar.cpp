// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "likewise/recommender.h"
#include "options/ids.h"
#include "options/new_users.h"
#include "options/options.h"
#include "options/paths.h"
#include "options/titles.h"
#include "output/rows.h"
#include "verb.h"

namespace likewise::cli {
namespace {

constexpr Offset kSimilarPerBatch = 1 << 20;

/// What the rows of a side are called.
struct Names {
  const IdMap& ids;
  const Titles& titles;
};

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
  std::string output = "-";
  Common common;

  void run() const {
    const bool of_items = all_items || !item_ids.empty();
    refuse_idle(*given, "--titles", of_items, "items: --item or --all-items");
    refuse_idle_titles(*given, titles_option);
    check_paths({{"MODEL", model_path},
                 {"--new", new_path},
                 {"--titles", titles_option.path},
                 {"-o", output, PathUse::kRows}});
    Progress progress(common.quiet);
    progress.stage("load");
    const auto model = std::make_shared<const Model>(load_model(model_path));
    refuse_idle(*given, "--metric", new_path.empty() && model->neighbourhood() == nullptr,
                "a model with factors: this one keeps its neighbours by its own similarity");
    const Job lists[] = {lists_job(model->params)};
    const Recommender recommender(model, announced_device(common, progress, lists));
    if (!new_path.empty()) return write_new(recommender, progress);
    const Side side = of_items ? Side::kItems : Side::kUsers;
    const IdMap& ids = side == Side::kItems ? model->items : model->users;
    const char* kind = side == Side::kItems ? "item" : "user";
    const std::vector<Index> asked =
        all_items || all_users ? all_indices(ids.size())
                               : indices_of(ids, side == Side::kItems ? item_ids : user_ids, kind);
    const Titles titles = of_items ? titles_for(*model, titles_option, progress) : Titles{};
    std::vector<std::string> columns{kind, fmt::format("similar_{}", kind), "rank", "score"};
    if (!titles.empty()) columns.emplace_back("title");
    RowWriter rows(output, columns);
    progress.stage("similar");
    write_all(recommender, side, {ids, titles}, asked, rows, progress);
    rows.finish();
    say_written(output,
                fmt::format("{} for {}", counted(rows.rows(), fmt::format("similar {}", kind)),
                            counted(std::ssize(asked), kind)),
                progress);
  }

  /// The trained users nearest to new ones.
  void write_new(const Recommender& recommender, Progress& progress) const {
    const Model& model = recommender.model();
    const NewUsers users = read_new_users(model, new_path, progress);
    RowWriter rows(output, {"user", "similar_user", "rank", "score"});
    progress.stage("similar");
    const TopKResult top = recommender.similar_new(users.rows, n);
    for (std::size_t q = 0; q < users.names.size(); ++q) {
      write({model.users, {}}, users.names[q], top, static_cast<Index>(q), rows);
    }
    rows.finish();
    say_written(output,
                fmt::format("{} for {}", counted(rows.rows(), "similar user"),
                            counted(std::ssize(users.names), "new user")),
                progress);
  }

  void write_all(const Recommender& recommender, Side side, const Names& names,
                 const std::vector<Index>& asked, RowWriter& rows, Progress& progress) const {
    const auto batch =
        static_cast<std::size_t>(std::clamp<Offset>(kSimilarPerBatch / n, 1, 16'384));
    for (std::size_t at = 0; at < asked.size(); at += batch) {
      const auto part = std::span(asked).subspan(at, std::min(batch, asked.size() - at));
      const TopKResult top = recommender.similar(side, part, n, metric, Progress::stop_control());
      for (std::size_t q = 0; q < part.size(); ++q) {
        write(names, names.ids.name(part[q]), top, static_cast<Index>(q), rows);
      }
      progress.control().report("similar", static_cast<Offset>(at + part.size()),
                                static_cast<Offset>(asked.size()), side_name(side));
    }
  }

  static void write(const Names& names, const std::string& name, const TopKResult& top, Index query,
                    RowWriter& rows) {
    for (Index r = 0; r < top.counts[query]; ++r) {
      const Offset at = Offset{query} * top.k + r;
      const std::string like = names.ids.name(top.items[at]);
      std::vector<Cell> cells{name, like, std::int64_t{r} + 1, top.scores[at]};
      const std::string title = shown_title(names.titles, names.ids, top.items[at]);
      if (!names.titles.empty()) cells.emplace_back(title);
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
  add_number(app, "-n", verb->n, "Answers per item or user")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->capture_default_str();
  add_choice<SimilarityMetric>(app, "--metric",
                               choices_of<SimilarityMetric>(kSimilarityMetricNames), verb->metric,
                               "cosine compares directions; dot also favours large factors; "
                               "euclidean is a distance, and so is hellinger, of models without "
                               "negative factors");
  add_titles_options(app, verb->titles_option,
                     "Items: add a column `title` of the similar one, from a file of item ids and "
                     "titles [the model's own]");
  add_row_options(app, verb->output, verb->common);
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
