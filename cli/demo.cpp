// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "likewise/evaluation.h"
#include "likewise/split.h"
#include "likewise/synthetic.h"
#include "likewise/write.h"
#include "options.h"
#include "report.h"
#include "rows.h"
#include "training.h"
#include "verb.h"

namespace likewise::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kColumn = 44;  // two lists side by side
constexpr int kNarrow = 30;  // three lists side by side
constexpr Index kShown = 5;
constexpr std::size_t kPeople = 3;

std::string on_two_columns(std::string_view left, std::string_view right) {
  return fmt::format("    {}  {}\n", fit(left, kColumn), right);
}

/// Everything that the demo makes on its way.
struct Story {
  Catalogue cinema;
  std::vector<Split> parts;
  std::shared_ptr<const Backend> backend;
  std::shared_ptr<Model> als;
  std::shared_ptr<Model> popular;
  std::vector<std::vector<std::string>> comparison;  ///< header and rows
  std::vector<Index> viewers;                        ///< whom the text is about
  std::string text;

  [[nodiscard]] std::string film(Index item) const {
    const Film& film = cinema.films[static_cast<std::size_t>(item)];
    return fmt::format("{} ({}, {})", film.title, film.genre, film.year);
  }
};

/// Films of a viewer, most watched first.
std::vector<Scored> watched(const Model& model, Index viewer) {
  const CsrView history = model.history.view();
  std::vector<Scored> films;
  for (std::size_t i = 0; i < history.row_columns(viewer).size(); ++i) {
    films.push_back({history.row_columns(viewer)[i], history.row_values(viewer)[i]});
  }
  std::stable_sort(films.begin(), films.end(),
                   [](const Scored& a, const Scored& b) { return a.score > b.score; });
  return films;
}

/// Viewers of different tastes with the most history: their rows are the easiest to judge by eye.
std::vector<Index> choose_viewers(const Story& story) {
  const CsrView history = story.als->history.view();
  std::vector<Index> order(static_cast<std::size_t>(history.rows));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return history.row_size(a) > history.row_size(b); });
  const auto taste = [&](Index viewer) {
    const std::string& words = story.cinema.tastes[static_cast<std::size_t>(viewer)];
    return words.substr(0, words.find(','));
  };
  std::vector<Index> chosen;
  for (const Index viewer : order) {
    const bool new_taste = std::none_of(chosen.begin(), chosen.end(),
                                        [&](Index c) { return taste(c) == taste(viewer); });
    if (new_taste) chosen.push_back(viewer);
    if (chosen.size() == kPeople) break;
  }
  return chosen;
}

struct Demo {
  std::string folder = "likewise-demo";
  std::uint64_t seed = 42;
  Common common;
  Style style{stdout};

  void run() const {
    fs::create_directories(folder);
    check_output_folder(in_folder("model.safetensors"));
    Progress progress(common.quiet);
    Story story;
    say(style.bold("likewise demo") + ": a made-up cinema, from visits to recommendations\n");
    make_data(story, progress);
    train(story, progress);
    test(story, progress);
    const Recommender recommender(story.als, story.backend);
    story.viewers = choose_viewers(story);
    recommend(story, recommender);
    compare_films(story, recommender);
    explain(story, recommender);
    write_files(story, progress);
    tell_next(story);
  }

  static void say(std::string_view text) { print_result(text); }

  [[nodiscard]] std::string in_folder(const char* name) const {
    return (fs::path(folder) / name).string();
  }

  [[nodiscard]] std::string heading(std::string_view title, std::string_view text) const {
    return fmt::format("\n{} {}\n", style.bold(style.accent(fit(title, 10))), text);
  }

  void make_data(Story& story, Progress& progress) const {
    progress.stage("data");
    story.cinema = demo_catalogue(seed);
    SplitOptions options;
    options.seed = seed;
    story.parts = split(story.cinema.interactions, options);
    const Interactions& all = story.cinema.interactions;
    say(heading(
        "Data",
        fmt::format("{}, {}, {} watched at least once", counted(all.users.size(), "viewer"),
                    counted(all.items.size(), "film"), counted(all.by_user.nnz(), "pair"))));
    say(fmt::format("    A fifth of the pairs is hidden from training, to test with.\n"));
  }

  void train(Story& story, Progress& progress) const {
    AlsParams params = AlsParams::defaults(Feedback::kImplicit);
    params.factors = 32;
    params.alpha = 4;
    params.regularization = 8;
    params.seed = seed;
    story.backend = open_backend(common.device);
    Interactions& data = story.parts.front().train;
    Interactions copy{data.users.clone(), data.items.clone(), data.by_user.clone(), {}};
    story.popular = start_model(std::move(copy), "popular", params, "demo", *story.backend);
    train_popular_model(*story.popular);
    story.als = start_model(std::move(data), "als", params, "demo", *story.backend);
    progress.stage("train");
    train_als_model(story.als, story.backend, std::nullopt, nullptr, {}, progress);
    const double seconds = progress.finish().back().seconds;
    say(heading("Train", fmt::format("alternating least squares, {} factors, {} iterations in {}",
                                     params.factors, params.iterations, duration(seconds))));
    say(fmt::format("    on {}\n", story.backend->description()));
  }

  void test(Story& story, Progress& progress) const {
    progress.stage("evaluate");
    const Interactions& held_out = story.parts.front().test;
    story.comparison = {{"", "NDCG@10", "recall@20", "coverage@20"}};
    for (const auto& [name, model] : {std::pair("likewise, ALS", story.als),
                                      std::pair("most popular for all", story.popular)}) {
      EvaluateOptions options;
      options.k = {10, 20};
      options.metrics = {"ndcg", "recall", "coverage"};
      const auto report =
          evaluate(Recommender(model, story.backend), make_test_set(*model, held_out), options, {},
                   Progress::stop_control());
      story.comparison.push_back({name, fmt::format("{:.3f}", report.metrics.at("ndcg@10")),
                                  fmt::format("{:.3f}", report.metrics.at("recall@20")),
                                  fmt::format("{:.1f} %", 100 * report.metrics.at("coverage@20"))});
    }
    progress.finish();
    TextTable table(story.comparison.front());
    for (std::size_t r = 1; r < story.comparison.size(); ++r) table.add(story.comparison[r]);
    say(heading("Test", "ranking the hidden films of each viewer among all unwatched ones"));
    say(table.text(4));
    say(style.dim("    coverage: share of the catalogue that appears in somebody's top 20\n"));
  }

  void recommend(const Story& story, const Recommender& recommender) const {
    say(heading("Recommend", "films that each viewer has not watched yet"));
    RecommendOptions options;
    options.n = kShown;
    const TopKResult top = recommender.recommend(story.viewers, options);
    for (std::size_t q = 0; q < story.viewers.size(); ++q) {
      const Index viewer = story.viewers[q];
      std::string text =
          fmt::format("\n    {}, who likes {}\n", style.bold(story.als->users.name(viewer)),
                      story.cinema.tastes[static_cast<std::size_t>(viewer)]);
      text += style.dim(on_two_columns("watched most", "likewise recommends"));
      const std::vector<Scored> had = watched(*story.als, viewer);
      const Index count = top.counts[static_cast<Index>(q)];
      for (Index r = 0; r < kShown; ++r) {
        const bool has = static_cast<std::size_t>(r) < had.size();
        const Offset at = static_cast<Offset>(q) * top.k + r;
        text += on_two_columns(has ? story.film(had[static_cast<std::size_t>(r)].index) : "",
                               r < count ? style.good(story.film(top.items[at])) : "");
      }
      say(text);
    }
  }

  /// What to show likenesses of: the favourite of each of the viewers.
  static std::vector<Index> favourites(const Story& story) {
    std::vector<Index> films;
    for (const Index viewer : story.viewers) {
      const std::vector<Scored> had = watched(*story.als, viewer);
      if (!had.empty()) films.push_back(had.front().index);
    }
    return films;
  }

  void compare_films(const Story& story, const Recommender& recommender) const {
    const std::vector<Index> films = favourites(story);
    const TopKResult like =
        recommender.similar(Side::kItems, films, kShown, SimilarityMetric::kCosine);
    say(heading("Similar", "because you liked ..."));
    const auto line = [&](const auto& cell) {
      std::string text = "    ";
      for (std::size_t f = 0; f < films.size(); ++f) text += cell(f) + " ";
      text.erase(text.find_last_not_of(' ') + 1);
      return text + "\n";
    };
    const auto film = [&](Index item) -> const Film& {
      return story.cinema.films[static_cast<std::size_t>(item)];
    };
    std::string text = line([&](std::size_t f) {
      return style.bold(fit(shortened(film(films[f]).title, kNarrow - 3), kNarrow));
    });
    for (Index r = 0; r < kShown; ++r) {
      text += line([&](std::size_t f) {
        if (r >= like.counts[static_cast<Index>(f)]) return fit("", kNarrow);
        const Film& found = film(like.items[static_cast<Offset>(f) * like.k + r]);
        return fit(fmt::format("{} ({})", shortened(found.title, kNarrow - 10), found.year),
                   kNarrow);
      });
    }
    say("\n" + text);
  }

  void explain(const Story& story, const Recommender& recommender) const {
    if (story.viewers.empty()) return;
    const Index viewer = story.viewers.front();
    const Index first[] = {viewer};
    RecommendOptions options;
    options.n = 1;
    const TopKResult top = recommender.recommend(first, options);
    if (top.counts[0] == 0) return;
    const CsrView history = story.als->history.view();
    FoldInRow row{{history.row_columns(viewer).begin(), history.row_columns(viewer).end()},
                  {history.row_values(viewer).begin(), history.row_values(viewer).end()}};
    const Explanation why = recommender.explain(row, top.items[0]);
    say(heading("Explain",
                fmt::format("why {} gets {}: most of the score comes from",
                            story.als->users.name(viewer), style.good(story.film(top.items[0])))));
    std::string text;
    const auto shown = std::min<std::size_t>(4, why.contributions.size());
    for (std::size_t c = 0; c < shown; ++c) {
      const Contribution& part = why.contributions[c];
      const double share = why.score != 0 ? part.share / why.score : 0;
      if (share <= 0) break;
      std::string bar;
      for (int b = 0; b < static_cast<int>(std::lround(40 * std::min(1.0, share))); ++b) bar += "▇";
      text += fmt::format("    {} {:>4.0f} %  {}\n", fit(story.film(part.item), kColumn),
                          100 * share, style.accent(bar));
    }
    say(text);
  }

  void write_files(const Story& story, Progress& progress) const {
    progress.stage("write");
    write_interactions(story.cinema.interactions, in_folder("visits.csv"),
                       Progress::stop_control());
    save_model(*story.als, in_folder("model.safetensors"));
    Report report = describe_training(story.als, story.backend, "likewise demo", progress.finish(),
                                      [&](Index item) { return story.film(item); });
    report.title = "A made-up cinema";
    report.comparison = story.comparison;
    write_report(report, in_folder("report.html"));
  }

  void tell_next(const Story& story) const {
    const std::string model = in_folder("model.safetensors");
    const auto quoted = [](const std::string& id) { return "\"" + id + "\""; };
    std::string text = heading("Files", fmt::format("in {}: visits.csv, model.safetensors and "
                                                    "report.html (open it in a browser)",
                                                    style.bold(folder + "/")));
    text += heading("Next", "try");
    if (!story.viewers.empty()) {
      const Index viewer = story.viewers.back();
      const std::string user = quoted(story.als->users.name(viewer));
      text += fmt::format("    likewise recommend {} --user {} --explain\n", model, user);
      const std::vector<Index> films = favourites(story);
      if (!films.empty()) {
        const std::string title = quoted(story.als->items.name(films.front()));
        text += fmt::format("    likewise similar {} --item {}\n", model, title);
        text += fmt::format("    likewise recommend {} --likes {} -n 5\n", model, title);
      }
    }
    text += fmt::format("    likewise train {} -o my-model.safetensors --factors 32\n",
                        in_folder("visits.csv"));
    text += "    likewise train YOUR-FILE.csv -o model.safetensors\n";
    say(text);
  }
};

}  // namespace

Run add_demo(CLI::App& app) {
  auto verb = std::make_shared<Demo>();
  app.add_option("-o,--output", verb->folder, "Folder for the data, the model and the report")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--seed", verb->seed, "Another seed, another cinema")
      ->type_name("N")
      ->capture_default_str();
  add_device_option(app, verb->common);
  add_common_options(app, verb->common);
  app.footer(
      "Examples:\n"
      "  likewise demo\n"
      "  likewise demo -o /tmp/cinema --seed 7");
  return [verb] { with_threads(verb->common.threads, [&] { verb->run(); }); };
}

}  // namespace likewise::cli
