// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <fmt/format.h>

#include "likewise/evaluation.h"
#include "likewise/query.h"
#include "options/features.h"
#include "options/ids.h"
#include "options/options.h"
#include "options/paths.h"
#include "options/titles.h"
#include "options/training_options.h"
#include "options/visitors.h"
#include "output/rows.h"
#include "verb.h"

namespace likewise::cli {
namespace {

constexpr int kReasons = 3;

/// "A (0.31); B (0.12)"
std::string text_of(const std::vector<Reason>& reasons) {
  std::string text;
  for (const Reason& reason : reasons) {
    text += fmt::format("{}{} ({:.3g})", text.empty() ? "" : "; ",
                        reason.title.empty() ? reason.item : reason.title, reason.share);
  }
  return text;
}

struct Recommend {
  std::string model_path;
  std::vector<std::string> user_ids;
  std::vector<std::string> liked;
  std::string users_path;
  std::string new_path;
  FeaturesFile features;
  bool everyone = false;
  Index n = 10;
  bool include_seen = false;
  std::string allow_path;
  std::string deny_path;
  bool new_items = false;
  bool explain = false;
  TitlesOption titles_option;
  RowOutput output;
  ReadOptions reading;
  Common common;
  const CLI::App* given = nullptr;

  void run() const {
    refuse_idle_titles(*given, titles_option);
    refuse_idle_reading(*given, !new_path.empty(), "--new");
    refuse_idle(*given, "--user-features-columns", features.given(), "--user-features");
    refuse_idle(*given, "--include-seen", !features.given(),
                "users with a history; by --user-features nobody has one");
    check_paths({{"MODEL", model_path},
                 {"--users", users_path},
                 {"--new", new_path},
                 {"--user-features", features.path},
                 {"--allow", allow_path},
                 {"--deny", deny_path},
                 {"--titles", titles_option.path},
                 {"-o", output.path, PathUse::kRows}});
    check_json(output);
    Progress progress(common.quiet);
    progress.stage("load");
    const auto model = std::make_shared<const Model>(load_model(model_path));
    const Job lists[] = {lists_job(model->params)};
    const Device device = announced_device(common, progress, lists);
    RecommendQuestion question{{}, n, include_seen, {}, {}, explain ? kReasons : 0};
    read_lists(*model, question, progress);
    const Queries queries(model, device, titles_for(*model, titles_option, progress));
    RowWriter rows(output.path, columns(queries.titles()), output.json);
    progress.stage("recommend");
    question.users = asked(*model, progress);
    progress.stage("recommend");
    const QuerySummary found = queries.recommend(
        question, [&](const AnswerList& list) { write(list, queries.titles(), rows); },
        progress.control());
    rows.finish();
    say_written(output.path,
                fmt::format("{} for {}", counted(found.answers, "recommendation"),
                            counted(found.asked, "user")),
                progress);
    if (const std::string advice = advice_on_lists(*model); !advice.empty()) {
      progress.say(spelled(advice, as_option));
    }
    if (found.short_lists > 0) {
      progress.say(
          fmt::format("{} got fewer than {} items: no other is left for them or has a score",
                      counted(found.short_lists, "user"), n));
    }
  }

  [[nodiscard]] std::vector<std::string> columns(const Titles& titles) const {
    std::vector<std::string> names{"user", "item", "rank", "score"};
    if (!titles.empty()) names.emplace_back("title");
    if (explain) names.emplace_back("because");
    return names;
  }

  void read_lists(const Model& model, RecommendQuestion& question, Progress& progress) const {
    const auto read = [&](const std::string& path) {
      FoundRows items = read_known_ids(model.items, path);
      if (items.unknown > 0) {
        progress.say(fmt::format("{}: {} not in the model", path, counted(items.unknown, "id")));
      }
      return std::move(items.rows);
    };
    if (!allow_path.empty()) question.allow = read(allow_path);
    if (new_items) question.allow = new_items_of(model);
    if (!deny_path.empty()) question.deny = read(deny_path);
    if (question.allow && question.allow->empty()) {
      throw Error(ErrorKind::kBadData,
                  fmt::format("{}: no item of it is in the model, so nothing may be recommended",
                              allow_path));
    }
  }

  [[nodiscard]] Asked asked(const Model& model, Progress& progress) const {
    if (!new_path.empty()) return read_visitors(model, new_path, reading, progress);
    if (features.given()) return read_visitor_features(model, features, progress);
    if (!liked.empty()) {
      Visitors visitors;
      visitors.add(model, "likes", liked_items(model));
      return visitors;
    }
    if (everyone) return Everybody{};
    if (!users_path.empty()) return read_ids(model.users, users_path, "user");
    return rows_of(model.users, user_ids, "user").rows;
  }

  /// Each --likes is one id, or several with commas between them.
  [[nodiscard]] std::vector<Like> liked_items(const Model& model) const {
    std::vector<Like> items;
    for (const std::string& text : liked) {
      if (model.items.find(text)) {
        items.push_back({text});
        continue;
      }
      for (std::string& id : CLI::detail::split(text, ',')) items.push_back({std::move(id)});
    }
    return items;
  }

  void write(const AnswerList& list, const Titles& titles, RowWriter& rows) const {
    for (std::size_t r = 0; r < list.answers.size(); ++r) {
      const Answer& answer = list.answers[r];
      std::vector<Cell> cells{list.asked, answer.id, static_cast<std::int64_t>(r) + 1,
                              answer.score};
      if (!titles.empty()) cells.emplace_back(answer.title);
      const std::string reasons = text_of(answer.reasons);
      if (explain) cells.emplace_back(reasons);
      rows.row(cells);
    }
  }
};

void add_who(CLI::App& app, Recommend& verb) {
  auto* user = app.add_option("--user", verb.user_ids, "A user id; may be repeated")
                   ->type_name("ID")
                   ->allow_extra_args(false);
  auto* users = add_path(app, "--users", verb.users_path, "A file with one user id per line")
                    ->type_name("FILE");
  auto* all = app.add_flag("--all", verb.everyone, "All users of the model");
  auto* likes = app.add_option("--likes", verb.liked,
                               "Somebody new: item ids with commas between them, or repeated; the "
                               "answers name the user 'likes'")
                    ->type_name("IDS")
                    ->allow_extra_args(false);
  auto* fresh = add_path(app, "--new", verb.new_path,
                         "Users who were not trained: their interactions, as for train")
                    ->type_name("RATINGS");
  auto* known = add_visitor_features(app, verb.features);
  require_one(app, {user, users, all, likes, fresh, known});
}

}  // namespace

Run add_recommend(CLI::App& app) {
  auto verb = std::make_shared<Recommend>();
  add_path(app, "MODEL", verb->model_path, "A model file")->required();
  add_who(app, *verb);
  add_number(app, "-n", verb->n, "Items per user", {1, 1'000'000})->capture_default_str();
  app.add_flag("--include-seen", verb->include_seen, "Also items that the user has already");
  add_path(app, "--allow", verb->allow_path, "Only items of this file (one id per line)")
      ->type_name("FILE");
  add_path(app, "--deny", verb->deny_path, "No items of this file (one id per line)")
      ->type_name("FILE");
  app.add_flag("--new-items", verb->new_items,
               "Only items that nobody has touched, which the model knows by their features")
      ->excludes("--allow")
      ->excludes("--include-seen");
  app.add_flag("--explain", verb->explain,
               "Add a column `because`: the past items that speak most for each answer");
  add_titles_options(app, verb->titles_option,
                     "Add a column `title`, from a file of item ids and titles [the model's own]");
  verb->given = &app;
  add_row_options(app, verb->output, verb->common);
  add_reading_options(app, verb->reading);
  app.footer(
      "Prints user,item,rank,score, best first; and title, where there are titles. A model of\n"
      "popular or bias has one order of items for everybody, except for what each has seen.\n\n"
      "Examples:\n"
      "  likewise recommend model.safetensors --user 42 --user 43 -n 5\n"
      "  likewise recommend model.safetensors --all -o recommendations.csv.gz\n"
      "  likewise recommend model.safetensors --likes \"17,256\" --explain\n"
      "  likewise recommend model.safetensors --user-features signups.csv\n"
      "  likewise recommend model.safetensors --user 42 --titles movies.csv\n"
      "  likewise recommend model.safetensors --user 42 --json | jq .item");
  return on_threads(verb);
}

}  // namespace likewise::cli
