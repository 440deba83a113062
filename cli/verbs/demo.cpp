// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "likewise/evaluation.h"
#include "likewise/split.h"
#include "likewise/synthetic.h"
#include "likewise/write.h"
#include "options/options.h"
#include "options/paths.h"
#include "output/rows.h"
#include "output/text.h"
#include "report/report.h"
#include "verb.h"
#include "verbs/demo_story.h"
#include "verbs/serving.h"
#include "verbs/training.h"

namespace likewise::cli {
namespace {

constexpr const char* kVisits = "visits.csv";
constexpr const char* kModel = "model.safetensors";
constexpr const char* kReport = "report.html";

using Rows = std::vector<std::vector<std::string>>;

struct Demo {
  std::string folder = "likewise-demo";
  std::uint64_t seed = 42;
  bool serves = false;
  std::string listen = kUsualListen;
  const CLI::App* given = nullptr;
  Common common;
  Style style{stdout};

  void run() const {
    refuse_idle(*given, "--listen", serves, "--serve");
    check_loopback(listen);
    check_paths({{"-o", in_folder(kVisits), PathUse::kInFolder},
                 {"-o", in_folder(kModel), PathUse::kInFolder},
                 {"-o", in_folder(kReport), PathUse::kInFolder}});
    const Device device = open_device(common.device);
    for (const Job job : {Job::kAls, Job::kTopK}) device.require(job);
    OutputFolder files(folder, {kVisits, kModel, kReport});
    // In a log the iterations would only stand between the results.
    Progress progress(common.quiet || !is_terminal(stderr));
    say(style.bold("likewise demo") + ": a synthetic cinema, from visits to recommendations\n");
    const Catalogue cinema = make_data(progress);
    SplitOptions options;
    options.seed = seed;
    std::vector<Split> parts = split(cinema.interactions, options);
    TrainingRun counting;
    counting.source = "demo";
    const auto popular = std::make_shared<const Model>(likewise::train(
        plan_of(PopularParams{}, parts.front().train, device), parts.front().train, counting));
    const auto als = train(cinema, parts.front().train, device, progress);
    const Rows comparison = test(parts.front().test, als, popular, device, progress);
    const Recommender recommender(als, device);
    const Story story{cinema, recommender, style};
    const std::vector<Index> viewers = choose_viewers(story);
    const std::vector<Index> films = favourite_films(story, viewers);
    say(tell_recommendations(story, viewers));
    say(tell_similar(story, films));
    if (!viewers.empty()) say(tell_explanation(story, viewers.front()));
    write_files(cinema, als, device, comparison, files, progress);
    tell_next(*als, viewers, films);
    if (serves) serve_on_loopback(in_folder(kModel), listen, common);
  }

  static void say(std::string_view text) { print_result(text); }

  [[nodiscard]] std::string in_folder(const char* name) const {
    return (std::filesystem::path(folder) / name).string();
  }

  [[nodiscard]] static TrainingPlan plan_of(const TrainingParams& params, const Interactions& data,
                                            const Device& device) {
    TrainingRequest request = request_of(params);
    request.open_device = device;
    return prepare(request, data);
  }

  [[nodiscard]] AlsParams parameters() const {
    AlsParams params = AlsParams::defaults(Feedback::kImplicit);
    params.factors = 32;
    params.alpha = 4;
    params.regularization = 8;
    params.seed = seed;
    return params;
  }

  [[nodiscard]] Catalogue make_data(Progress& progress) const {
    progress.stage("data");
    Catalogue cinema = demo_catalogue(seed);
    const Interactions& all = cinema.interactions;
    say(heading(
        style, "Data",
        fmt::format("{} watched {} in {}", counted(all.users.size(), "viewer"),
                    counted(all.items.size(), "film"), counted(all.by_user.nnz(), "pair"))));
    say("    A fifth of the pairs is hidden from training, to test with.\n");
    return cinema;
  }

  [[nodiscard]] std::shared_ptr<const Model> train(const Catalogue& cinema,
                                                   const Interactions& data, const Device& device,
                                                   Progress& progress) const {
    const AlsParams params = parameters();
    progress.stage("train");
    TrainingRun run;
    run.source = "demo";
    auto model = std::make_shared<Model>(
        train_with_report(plan_of(params, data, device), data, std::move(run), progress));
    std::vector<std::string> titles;
    for (const Film& film : cinema.films) titles.push_back(film_text(film));
    model->titles = make_titles(titles);
    const double seconds = progress.finish().back().seconds;
    say(heading(style, "Train",
                fmt::format("alternating least squares, {} factors, {} iterations in {}",
                            params.factors, params.iterations, duration(seconds))));
    say(fmt::format("    on {}\n", device_text(device)));
    return model;
  }

  Rows test(const Interactions& held_out, const std::shared_ptr<const Model>& als,
            const std::shared_ptr<const Model>& popular, const Device& device,
            Progress& progress) const {
    progress.stage("evaluate");
    EvaluateOptions options;
    options.k = {10, 20};
    options.metrics = {"ndcg", "recall", "coverage"};
    Rows rows = {{"", "NDCG@10", "recall@20", "coverage@20"}};
    for (const auto& [name, model] :
         {std::pair("likewise, ALS", als), std::pair("most popular for all", popular)}) {
      const auto found = evaluate(Recommender(model, device), make_test_set(*model, held_out),
                                  options, {}, Progress::stop_control())
                             .metrics;
      rows.push_back({name, fmt::format("{:.3f}", found.at("ndcg@10")),
                      fmt::format("{:.3f}", found.at("recall@20")),
                      fmt::format("{:.0f} %", 100 * found.at("coverage@20"))});
    }
    progress.finish();
    TextTable table(rows.front());
    for (std::size_t r = 1; r < rows.size(); ++r) table.add(rows[r]);
    say(heading(style, "Test", "each viewer's hidden films, ranked among all unwatched ones"));
    say(table.text(4));
    say(style.dim("    coverage: share of all films that appear in somebody's top 20\n"));
    return rows;
  }

  void write_files(const Catalogue& cinema, const std::shared_ptr<const Model>& als,
                   const Device& device, const Rows& comparison, OutputFolder& files,
                   Progress& progress) const {
    progress.stage("write");
    files.write(kVisits, [&](const std::string& path) {
      write_interactions(cinema.interactions, path, Progress::stop_control());
    });
    files.write(kModel, [&](const std::string& path) { save_model(*als, path); });
    Report report = describe_training(als, device, "likewise demo", progress.finish());
    report.title = "A synthetic cinema";
    report.comparison = comparison;
    files.write(kReport, [&](const std::string& path) { write_report(report, path); });
    files.commit();
    say(heading(style, "Files", "in " + style.bold(folder + "/")));
    say("    visits.csv, model.safetensors, and report.html with charts for your browser\n");
  }

  void tell_next(const Model& als, const std::vector<Index>& viewers,
                 const std::vector<Index>& films) const {
    const std::string model = shell_word(in_folder(kModel));
    std::string text = heading(style, "Next", "try it yourself");
    if (!viewers.empty()) {
      const std::string title = shell_word(als.items.name(films.front()));
      text += fmt::format("    likewise recommend {} --user {} -n 5\n", model,
                          shell_word(als.users.name(viewers.front())));
      text += fmt::format("    likewise recommend {} --likes {} -n 5\n", model, title);
      text += fmt::format("    likewise similar {} --item {}\n", model, title);
    }
    if (!serves) text += fmt::format("    likewise serve {}\n", model);
    text += "    likewise train YOUR-RATINGS.csv -o model.safetensors --report report.html\n";
    say(text);
  }
};

}  // namespace

Run add_demo(CLI::App& app) {
  auto verb = std::make_shared<Demo>();
  add_path(app, "-o,--output", verb->folder, "Folder for the data, the model and the report")
      ->type_name("DIR")
      ->capture_default_str();
  add_number(app, "--seed", verb->seed, "Another seed, another cinema")->capture_default_str();
  app.add_flag("--serve", verb->serves,
               "Then serve the cinema, with a page for your browser, until Ctrl-C");
  app.add_option("--listen", verb->listen,
                 "Address and port of --serve, of this machine alone; port 0: one that is free")
      ->type_name("ADDRESS:PORT")
      ->capture_default_str();
  add_device_options(app, verb->common);
  verb->given = &app;
  app.footer(
      "Examples:\n"
      "  likewise demo\n"
      "  likewise demo --serve\n"
      "  likewise demo -o /tmp/cinema --seed 7");
  return on_threads(verb);
}

}  // namespace likewise::cli
