// SPDX-License-Identifier: Apache-2.0
#include "likewise/tune.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "likewise/training.h"
#include "options/features.h"
#include "options/options.h"
#include "options/paths.h"
#include "options/titles.h"
#include "options/training_options.h"
#include "output/rows.h"
#include "output/text.h"
#include "report/page.h"
#include "report/search_report.h"
#include "verb.h"

namespace likewise::cli {
namespace {

/// Spells and says why algorithms have no trial.
void say_not_searched(std::vector<std::string>& reasons, Progress& progress) {
  for (std::string& why : reasons) progress.say("not searched: " + (why = spelled(why, as_option)));
}

constexpr const char* kAll = "all";

[[nodiscard]] std::string quoted_all(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

struct Tune {
  const CLI::App* given = nullptr;
  std::vector<std::string> ratings;
  std::string output;
  std::vector<std::string> algorithms{kAll};
  TuneOptions options;
  std::string validation;
  std::string journal;
  bool resume = false;
  std::string report;
  bool json = false;
  TitlesOption titles;
  FeaturesOption features;
  ReadOptions reading;
  Common common;
  std::vector<std::string> not_trained{};  ///< by the device, with the reasons

  void run() {
    check_options();
    const std::string journal_path = journal.empty() ? journal_beside_model() : journal;
    check_paths("RATINGS", ratings,
                {{"--validation", validation},
                 {"--titles", titles.path},
                 {"--item-features", features.items.path},
                 {"--user-features", features.users.path},
                 {"-o", output, PathUse::kModel},
                 {"--journal", journal_path, PathUse::kOutput},
                 {"--report", report, PathUse::kOutput},
                 {"the result on standard output", "-", PathUse::kOutput}});
    check_journal(journal_path, resume);
    Progress progress(common.quiet);
    open_devices(progress);
    ReadOptions rows = reading_for(options.feedback, reading);
    const SplitMethod method = options.split.method;
    rows.keep_times = method == SplitMethod::kLast || method == SplitMethod::kTime;
    ReadSummary summary;
    const Interactions data = read_with_report(ratings, rows, progress, "read", &summary);
    std::optional<Interactions> measured;
    if (!validation.empty()) {
      measured = read_with_report(validation, held_out(rows), progress, "read validation");
    }
    const FeatureTables tables = read_features_with_report(features, progress);
    check_features(data, tables);
    const IdMap items = all_items(data, measured, tables);
    Titles called;
    if (titles.given()) called = read_titles_with_report(titles, items, progress);
    progress.stage("search");
    TuneRun how;
    how.control = Progress::stop_control();
    how.validation = measured ? &*measured : nullptr;
    how.validation_source = base_name(validation);
    how.duplicates = summary.policy;
    how.source = base_name(ratings);
    how.features = tables.empty() ? nullptr : &tables;
    how.journal = journal_path;
    how.resume = resume;
    how.open = [&](const TrainingParams& params, std::span<const Job> also) {
      return open(params, also).device;
    };
    how.on_trial = [&](const TuneProgress& now) { show(now, progress); };
    how.on_winner = [&](const TuneResult& result) {
      progress.stage("train");
      progress.say(fmt::format("best of {}: {}; training it on everything",
                               counted(std::ssize(result.trials), "trial"), best_so_far(result)));
    };
    TuneResult result = tune(data, options, how);
    for (std::string& note : result.notes) progress.say(note = spelled(note, as_option));
    say_not_searched(result.left_out, progress);
    for (TuneTrial& trial : result.trials) trial.failure = spelled(trial.failure, as_option);
    result.left_out.insert(result.left_out.begin(), not_trained.begin(), not_trained.end());
    if (!result.model) say_stopped(result, journal_path);
    say_learned(result.features, progress);
    if (titles.given()) result.model->titles = titles_of(result.model->items, called, items);
    progress.stage("save");
    save_model(*result.model, output);
    const SearchReport shown{result, base_name(ratings), base_name(validation), options.budget.text,
                             command(result.for_everything)};
    if (!report.empty()) {
      progress.stage("report");
      write_page(shown.as_page(), report);
    }
    tell(shown, journal_path, progress);
  }

  /// Those that the model may have.
  [[nodiscard]] static IdMap all_items(const Interactions& data,
                                       const std::optional<Interactions>& measured,
                                       const FeatureTables& tables) {
    IdMap items = data.items.share();
    if (measured) items = ids_with(items, measured->items);
    if (tables.items) items = ids_with(items, tables.items->ids);
    return items;
  }

  /// The model's name and .journal: not of /dev/stdout or a pipe.
  [[nodiscard]] std::string journal_beside_model() const {
    std::error_code unknown;
    const auto there = std::filesystem::status(output, unknown);
    const bool may_be = !std::filesystem::exists(there) || is_regular_file(there) ||
                        is_directory(there);  // refused with the other paths
    if (output != "-" && !may_be) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("-o {} is no plain file next to which the journal could be: name "
                              "one by --journal",
                              printable(output)));
    }
    return output + ".journal";
  }

  void check_options() {
    const bool all = std::ranges::find(algorithms, kAll) != algorithms.end();
    if (all && algorithms.size() > 1) {
      throw Error(ErrorKind::kInvalidArgument,
                  "--algorithm all stands alone; or name those to search");
    }
    if (!all) options.algorithms = algorithms;
    for (const char* option : {"--validation-method", "--validation-share"}) {
      refuse_idle(*given, option, validation.empty(),
                  "a validation part that is cut from RATINGS: "
                  "leave --validation out");
    }
    refuse_idle(*given, "--validation-share", options.split.method != SplitMethod::kLast,
                "--validation-method random, per-user or time");
    refuse_idle_titles(*given, titles);
    refuse_idle_features(*given, features);
    options.has_features = features.given();
    options.validate();
  }

  [[nodiscard]] DeviceChoice open(const TrainingParams& params, std::span<const Job> also) const {
    return open_device_to_train(common.device, params, {.device_memory = common.device_memory},
                                also);
  }

  /// Says which devices will train, before anything is read. What cannot be trained there is
  /// refused where it was named, and left out of "all".
  void open_devices(Progress& progress) {
    std::set<std::string> said;
    const auto open_and_say = [&](const TrainingParams& params, std::span<const Job> also) {
      const DeviceChoice choice = open(params, also);
      const std::string text = fmt::format("device: {}{}{}", device_text(choice.device),
                                           choice.reason.empty() ? "" : "; ", choice.reason);
      if (said.insert(text).second) progress.say(text);
      return choice.device;
    };
    for (const std::string& name : options.algorithms) {
      (void)open_and_say(default_params(name, options.feedback), {});
    }
    if (!options.algorithms.empty()) return;
    const TrainedAlgorithms found =
        trained_algorithms(options.feedback, open_and_say, options.has_features);
    not_trained = found.left_out;
    say_not_searched(not_trained, progress);
    options.algorithms = found.algorithms;
  }

  void show(const TuneProgress& now, Progress& progress) const {
    progress.show({"search", static_cast<Offset>(now.so_far.trials.size()),
                   static_cast<Offset>(options.budget.trials),
                   fmt::format("trials, best {}, {} left", best_so_far(now.so_far),
                               duration(now.seconds_left))});
  }

  /// The command that trains with these parameters on RATINGS.
  [[nodiscard]] std::string command(const TrainingParams& params) const {
    std::vector<std::string> words{"likewise", "train"};
    std::ranges::transform(ratings, std::back_inserter(words), file_word);
    words.insert(words.end(), {"-o", file_word(output)});
    std::string text = fmt::format("{} {}", quoted_all(words), options_text(params));
    const auto add = [&](const std::vector<std::string>& more) {
      if (!more.empty()) text += " " + quoted_all(more);
    };
    add(words_of(features));
    if (titles.given()) add({"--titles", file_word(titles.path)});
    if (!titles.how.columns.empty()) {
      add({"--titles-columns", fmt::format("{}", fmt::join(titles.how.columns, ","))});
    }
    for (const CLI::Option* option : given->get_options()) {
      if (option->get_group() != kReadingGroup || option->count() == 0) continue;
      text += fmt::format(" {} {}", option->get_name(),
                          shell_word(fmt::format("{}", fmt::join(option->results(), ","))));
    }
    return text;
  }

  [[noreturn]] void say_stopped(const TuneResult& result, const std::string& journal_path) const {
    const TuneTrial* best = result.best();
    const std::string found =
        best == nullptr ? std::string("no trial was done")
                        : fmt::format("the best of {} so far is {}: {}",
                                      counted(std::ssize(result.trials), "trial"),
                                      best_so_far(result), command(result.for_everything));
    throw Error(ErrorKind::kCancelled,
                fmt::format("interrupted before a model was written; {}; `--resume` with the same "
                            "options goes on from {}",
                            found, journal_path));
  }

  void tell(const SearchReport& shown, const std::string& journal_path, Progress& progress) const {
    progress.finish();
    progress.say_times();
    progress.say("model: " + output);
    progress.say("journal: " + journal_path);
    if (!report.empty()) progress.say("report: " + report);
    for (const std::size_t line : shown.result.broken_lines) {
      progress.warn(fmt::format("warning: {}: line {} was broken; what it noted was trained again",
                                journal_path, line));
    }
    const std::string warning = shown.result.warning();
    if (!warning.empty()) progress.warn("warning: " + warning);
    print_result(
        json ? shown.as_json().dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"
             : shown.as_text());
  }
};

void add_search_options(CLI::App& app, Tune& verb) {
  add_list(app, "--algorithm", verb.algorithms,
           fmt::format("What to search among: all; or of implicit feedback {}; or of explicit {}",
                       fmt::join(tuned_algorithms(Feedback::kImplicit), ", "),
                       fmt::join(tuned_algorithms(Feedback::kExplicit), ", ")))
      ->type_name("LIST")
      ->default_str(kAll);
  add_choice<Feedback>(app, "--feedback", choices_of<Feedback>(kFeedbackNames),
                       verb.options.feedback,
                       "implicit: values are counts or strengths; explicit: ratings to predict");
  add_text(app, "--metric", verb.options.metric,
           "What the best parameters are best by: a metric of `likewise evaluate --help` "
           "[ndcg@10 implicit, rmse explicit]")
      ->type_name("NAME");
  const auto budget = [&verb](const std::string& text) {
    try {
      verb.options.budget = parse_budget(text);
    } catch (const Error& error) {
      throw CLI::ValidationError("--budget", error.what());
    }
  };
  app.add_option_function<std::string>(
         "--budget", budget,
         "How long to search and to train the best: 30s, 10m, 1h; or a number of trials, which "
         "gives the same result again")
      ->type_name("TIME|N")
      ->default_str("10m");
  add_number(app, "--seed", verb.options.seed, "Of the search and of the validation part")
      ->capture_default_str();
  add_path(app, "--validation", verb.validation,
           "Held-out interactions to measure on, in place of a part of RATINGS")
      ->type_name("FILE");
  add_choice<SplitMethod>(app, "--validation-method",
                          {{"random", SplitMethod::kRandom},
                           {"per-user", SplitMethod::kPerUser},
                           {"last", SplitMethod::kLast},
                           {"time", SplitMethod::kTime}},
                          verb.options.split.method,
                          "The part of RATINGS to measure on: random rows, random rows of each "
                          "user, the newest row of each user, or the newest rows");
  add_number(app, "--validation-share", verb.options.split.test,
             "random, per-user, time: the share of the rows")
      ->type_name("SHARE")
      ->capture_default_str();
  add_path(app, "--journal", verb.journal,
           "Where each training is noted as it ends [the model's name and .journal]")
      ->type_name("FILE");
  app.add_flag("--resume", verb.resume, "Go on with the journal of a search that was ended");
  add_path(app, "--report", verb.report,
           "Write a page: the best trials, charts, which parameters mattered")
      ->type_name("FILE.html");
  app.add_flag("--json", verb.json, "Print one object: all trials, the best, its command line");
}

}  // namespace

Run add_tune(CLI::App& app) {
  auto verb = std::make_shared<Tune>();
  add_inputs(app, "RATINGS", verb->ratings, "Interactions: user, item [, value] [, time]");
  add_path(app, "-o,--output", verb->output, "The model file to write")
      ->type_name("MODEL")
      ->required();
  add_search_options(app, *verb);
  add_device_options(app, verb->common);
  add_device_memory_option(app, verb->common);
  add_titles_options(app, verb->titles,
                     "Keep titles with the model, from a file of item ids and "
                     "titles");
  add_features_options(app, verb->features);
  add_reading_options(app, verb->reading);
  add_weighing_options(app, verb->reading);
  app.footer(
      "Tries parameters on a part of the data, measures them on the rest, and trains the best on\n"
      "all of it, within the budget where that is a time. Keep a test part out of RATINGS: what "
      "the\n"
      "search has seen cannot say how good the model is. Ctrl-C says what the best so far is and "
      "writes no\n"
      "model; --resume goes on.\n\n"
      "Examples:\n"
      "  likewise tune parts/train.csv -o model.safetensors --budget 10m --report search.html\n"
      "  likewise tune ratings.csv -o model.safetensors --feedback explicit --algorithm als,sgd\n"
      "  likewise tune plays.csv -o model.safetensors --item-features artists.csv\n"
      "  likewise tune plays.csv -o model.safetensors --metric recall@20 --budget 100 \\\n"
      "      --validation-method last\n"
      "  likewise tune plays.csv -o model.safetensors --metric recall@20 --budget 200 \\\n"
      "      --validation-method last --resume");
  verb->given = &app;
  return on_threads(verb);
}

}  // namespace likewise::cli
