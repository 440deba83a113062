// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "likewise/evaluation.h"
#include "likewise/recommender.h"
#include "options/ids.h"
#include "options/new_users.h"
#include "options/options.h"
#include "options/paths.h"
#include "options/titles.h"
#include "options/training_options.h"
#include "output/rows.h"
#include "verb.h"

namespace likewise::cli {
namespace {

/// Answers held at once: bounds the memory for any number of users and any n.
constexpr Offset kAnswersPerBatch = 1 << 20;
constexpr std::size_t kReasons = 3;

/// What a user of the model did, as the recommender's explanations want it.
FoldInRow history_of(const Model& model, Index user) {
  const CsrView history = model.history.view();
  const auto columns = history.row_columns(user);
  const auto values = history.row_values(user);
  return {{columns.begin(), columns.end()}, {values.begin(), values.end()}};
}

/// The past items that speak most for the answer: "A (0.31); B (0.12)".
std::string because(const Recommender& recommender, const Titles& titles, const FoldInRow& history,
                    Index item) {
  Progress::stop_control().check();  // each reason solves a system of its own
  const Explanation why = recommender.explain(history, item);
  std::string text;
  for (std::size_t c = 0; c < std::min(kReasons, why.contributions.size()); ++c) {
    const Contribution& part = why.contributions[c];
    if (part.share <= 0) break;
    text += fmt::format("{}{} ({:.3g})", text.empty() ? "" : "; ",
                        title_or_id(titles, recommender.model().items, part.item), part.share);
  }
  return text;
}

struct Recommend {
  std::string model_path;
  std::vector<std::string> user_ids;
  std::vector<std::string> liked;
  std::string users_path;
  std::string new_path;
  bool everyone = false;
  Index n = 10;
  bool include_seen = false;
  std::string allow_path;
  std::string deny_path;
  bool explain = false;
  TitlesOption titles_option;
  std::string output = "-";
  Common common;
  const CLI::App* given = nullptr;

  Titles titles;
  std::vector<Index> allow;
  std::vector<Index> deny;

  void run() {
    refuse_idle_titles(*given, titles_option);
    check_paths({{"MODEL", model_path},
                 {"--users", users_path},
                 {"--new", new_path},
                 {"--allow", allow_path},
                 {"--deny", deny_path},
                 {"--titles", titles_option.path},
                 {"-o", output, PathUse::kRows}});
    Progress progress(common.quiet);
    progress.stage("load");
    const auto model = std::make_shared<const Model>(load_model(model_path));
    const Job lists[] = {lists_job(model->params)};
    const Recommender recommender(model, announced_device(common, progress, lists));
    read_lists(*model, progress);
    titles = titles_for(*model, titles_option, progress);
    RowWriter rows(output, columns());
    progress.stage("recommend");
    Offset asked = 1;
    Offset short_users = 0;
    if (!new_path.empty()) {
      const NewUsers users = read_new_users(*model, new_path, progress);
      progress.stage("recommend");
      asked = std::ssize(users.names);
      short_users = for_new_users(recommender, users, rows, progress);
    } else if (liked.empty()) {
      const std::vector<Index> users = chosen_users(*model);
      asked = std::ssize(users);
      short_users = for_users(recommender, users, rows, progress);
    } else {
      short_users = for_likes(recommender, rows);
    }
    rows.finish();
    say_written(
        output,
        fmt::format("{} for {}", counted(rows.rows(), "recommendation"), counted(asked, "user")),
        progress);
    if (const std::string advice = advice_on_lists(recommender.model()); !advice.empty()) {
      progress.say(spelled(advice, as_option));
    }
    if (short_users > 0) {
      progress.say(fmt::format("{} got fewer than {} items: nothing else is left for them",
                               counted(short_users, "user"), n));
    }
  }

  [[nodiscard]] std::vector<std::string> columns() const {
    std::vector<std::string> names{"user", "item", "rank", "score"};
    if (!titles.empty()) names.emplace_back("title");
    if (explain) names.emplace_back("because");
    return names;
  }

  [[nodiscard]] RecommendOptions options() const { return {n, include_seen, allow, deny}; }

  void read_lists(const Model& model, Progress& progress) {
    const auto read = [&](const std::string& path, std::vector<Index>& list) {
      if (path.empty()) return;
      KnownIds ids = read_known_ids(model.items, path);
      if (ids.unknown > 0) {
        progress.say(fmt::format("{}: {} not in the model", path, counted(ids.unknown, "id")));
      }
      list = std::move(ids.known);
    };
    read(allow_path, allow);
    read(deny_path, deny);
    if (!allow_path.empty() && allow.empty()) {
      throw Error(ErrorKind::kBadData,
                  fmt::format("{}: no item of it is in the model, so nothing may be recommended",
                              allow_path));
    }
  }

  [[nodiscard]] std::vector<Index> chosen_users(const Model& model) const {
    if (everyone) return all_indices(model.users.size());
    if (!users_path.empty()) return read_ids(model.users, users_path, "user");
    return indices_of(model.users, user_ids, "user");
  }

  /// Returns how many users got fewer than n items.
  Offset for_users(const Recommender& recommender, const std::vector<Index>& users, RowWriter& rows,
                   Progress& progress) const {
    const auto batch =
        static_cast<std::size_t>(std::clamp<Offset>(kAnswersPerBatch / n, 1, 16'384));
    Offset short_users = 0;
    for (std::size_t at = 0; at < users.size(); at += batch) {
      const auto part = std::span(users).subspan(at, std::min(batch, users.size() - at));
      const TopKResult top = recommender.recommend(part, options(), Progress::stop_control());
      for (std::size_t q = 0; q < part.size(); ++q) {
        const auto query = static_cast<Index>(q);
        const FoldInRow history = explain ? history_of(recommender.model(), part[q]) : FoldInRow{};
        write(recommender, recommender.model().users.name(part[q]), top, query, history, rows);
        if (top.counts[query] < n) ++short_users;
      }
      progress.control().report("recommend", static_cast<Offset>(at + part.size()),
                                static_cast<Offset>(users.size()), "users");
    }
    return short_users;
  }

  Offset for_new_users(const Recommender& recommender, const NewUsers& users, RowWriter& rows,
                       Progress& progress) const {
    constexpr std::size_t kUsersPerBatch = 1024;
    Offset short_users = 0;
    for (std::size_t at = 0; at < users.rows.size(); at += kUsersPerBatch) {
      const auto part =
          std::span(users.rows).subspan(at, std::min(kUsersPerBatch, users.rows.size() - at));
      const TopKResult top = naming_rows(
          [&](Offset row) { return "user " + users.names[at + static_cast<std::size_t>(row)]; },
          [&] { return recommender.recommend_new(part, options(), progress.control()); });
      for (std::size_t q = 0; q < part.size(); ++q) {
        const auto query = static_cast<Index>(q);
        write(recommender, users.names[at + q], top, query, part[q], rows);
        if (top.counts[query] < n) ++short_users;
      }
    }
    return short_users;
  }

  /// Somebody who was not trained.
  Offset for_likes(const Recommender& recommender, RowWriter& rows) const {
    const Model& model = recommender.model();
    FoldInRow likes{liked_items(model), {}};
    likes.values.assign(likes.columns.size(), value_of_a_like(model));
    const TopKResult top =
        naming_rows([](Offset) { return std::string("--likes"); },
                    [&] {
                      return recommender.recommend_new(std::span(&likes, 1), options(),
                                                       Progress::stop_control());
                    });
    write(recommender, "likes", top, 0, likes, rows);
    return top.counts[0] < n ? 1 : 0;
  }

  /// For ratings the highest one: a 1 would say the opposite.
  static float value_of_a_like(const Model& model) {
    const Array<float>& values = model.history.values;
    const bool counts = model.feedback() == Feedback::kImplicit || values.empty();
    return counts ? 1.0F : *std::max_element(values.begin(), values.end());
  }

  /// Each --likes is one id, or several with commas between them.
  [[nodiscard]] std::vector<Index> liked_items(const Model& model) const {
    std::vector<Index> items;
    for (const std::string& text : liked) {
      if (const auto whole = model.items.find(text)) {
        items.push_back(*whole);
        continue;
      }
      for (const std::string& id : CLI::detail::split(text, ',')) {
        items.push_back(index_of(model.items, id, "item"));
      }
    }
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
    return items;
  }

  void write(const Recommender& recommender, const std::string& user, const TopKResult& top,
             Index query, const FoldInRow& history, RowWriter& rows) const {
    for (Index r = 0; r < top.counts[query]; ++r) {
      const Offset at = Offset{query} * top.k + r;
      const IdMap& ids = recommender.model().items;
      const std::string item = ids.name(top.items[at]);
      std::vector<Cell> cells{user, item, std::int64_t{r} + 1, top.scores[at]};
      const std::string title = shown_title(titles, ids, top.items[at]);
      if (!titles.empty()) cells.emplace_back(title);
      const std::string reasons =
          explain ? because(recommender, titles, history, top.items[at]) : "";
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
  require_one(app, {user, users, all, likes, fresh});
}

}  // namespace

Run add_recommend(CLI::App& app) {
  auto verb = std::make_shared<Recommend>();
  add_path(app, "MODEL", verb->model_path, "A model file")->required();
  add_who(app, *verb);
  add_number(app, "-n", verb->n, "Items per user")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->capture_default_str();
  app.add_flag("--include-seen", verb->include_seen, "Also items that the user has already");
  add_path(app, "--allow", verb->allow_path, "Only items of this file (one id per line)")
      ->type_name("FILE");
  add_path(app, "--deny", verb->deny_path, "No items of this file (one id per line)")
      ->type_name("FILE");
  app.add_flag("--explain", verb->explain,
               "Add a column `because`: the past items that speak most for each answer");
  add_titles_options(app, verb->titles_option,
                     "Add a column `title`, from a file of item ids and titles [the model's own]");
  verb->given = &app;
  add_row_options(app, verb->output, verb->common);
  app.footer(
      "Prints user,item,rank,score, best first; and title, where there are titles. A model of\n"
      "popular or bias has one order of items for everybody, but for what each has seen.\n\n"
      "Examples:\n"
      "  likewise recommend model.safetensors --user 42 --user 43 -n 5\n"
      "  likewise recommend model.safetensors --all -o recommendations.csv.gz\n"
      "  likewise recommend model.safetensors --likes \"17,256\" --explain\n"
      "  likewise recommend model.safetensors --user 42 --titles movies.csv");
  return on_threads(verb);
}

}  // namespace likewise::cli
