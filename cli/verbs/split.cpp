// SPDX-License-Identifier: Apache-2.0
#include "likewise/split.h"

#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "likewise/write.h"
#include "options/options.h"
#include "options/paths.h"
#include "verb.h"

namespace likewise::cli {
namespace {

constexpr const char* kTrain = "train.csv";
constexpr const char* kTest = "test.csv";

struct SplitVerb {
  const CLI::App* given = nullptr;
  std::vector<std::string> ratings;
  std::string output;
  SplitOptions options;
  ReadOptions reading;
  Common common;

  void run() const {
    check_options();
    check_paths("RATINGS", ratings, paths());
    const std::vector<std::string> files = names();
    OutputFolder folder(output, files);
    if (folds() > 0) {
      folder.require_missing(fold_name(folds()));  // of an earlier split into more folds
    }
    Progress progress(common.quiet);
    const Interactions all = read_with_report(ratings, reading, progress);
    progress.stage("split");
    const std::vector<Split> parts = split(all, options);
    progress.stage("write");
    std::vector<std::string> written;
    const auto write = [&](const std::string& name, const Interactions& part) {
      folder.write(name, [&](const std::string& path) {
        write_interactions(part, path, progress.control());
      });
      written.push_back(
          fmt::format("{}: {}", in_folder(name), counted(part.by_user.nnz(), "interaction")));
    };
    for (std::size_t p = 0; p < parts.size(); ++p) {
      write(files[2 * p], parts[p].train);
      write(files[2 * p + 1], parts[p].test);
    }
    folder.commit();
    for (const std::string& line : written) progress.say(line);
  }

  void check_options() const {
    const SplitMethod method = options.method;
    const bool random = method == SplitMethod::kRandom;
    const bool per_user = method == SplitMethod::kPerUser;
    const bool rows = given->count("--rows") > 0;
    refuse_idle(*given, "--rows", per_user, "--method per-user");
    if (rows && options.rows < 1) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("--rows must be at least 1, not {}", options.rows));
    }
    refuse_idle(*given, "--test", !rows, "--method per-user without --rows");
    const bool time = method == SplitMethod::kTime;
    const bool cold = method == SplitMethod::kColdItems;
    refuse_idle(*given, "--test", random || per_user || time || cold,
                "--method random, per-user, time or cold-items");
    for (const char* option : {"--at", "--rolling"}) {
      refuse_idle(*given, option, time, "--method time");
    }
    if (given->count("--rolling") > 0 && options.rolling == 0) {
      throw Error(ErrorKind::kInvalidArgument, "--rolling must be at least 2, not 0");
    }
    refuse_idle(*given, "--test", !options.at, "no --at, which says where the test begins");
    refuse_idle(*given, "--last", method == SplitMethod::kLast, "--method last");
    refuse_idle(*given, "--folds", method == SplitMethod::kKFold, "--method kfold");
    refuse_idle(*given, "--seed", !time || (!options.at && options.rolling == 0),
                "neither --at nor --rolling, which draw nothing");
    options.validate();
  }

  /// How many splits; 0: one, without a folder of its own.
  [[nodiscard]] int folds() const {
    return options.method == SplitMethod::kKFold ? options.folds : options.rolling;
  }

  [[nodiscard]] static std::string fold_name(int f) { return fmt::format("fold-{}", f + 1); }

  /// Training and test part of each split, one after the other.
  [[nodiscard]] std::vector<std::string> names() const {
    if (folds() == 0) return {kTrain, kTest};
    std::vector<std::string> files;
    for (int f = 0; f < folds(); ++f) {
      files.push_back(fold_name(f) + "/" + kTrain);
      files.push_back(fold_name(f) + "/" + kTest);
    }
    return files;
  }

  [[nodiscard]] std::vector<NamedPath> paths() const {
    std::vector<NamedPath> all;
    for (const std::string& name : names()) {
      all.push_back({"-o", in_folder(name), PathUse::kInFolder});
    }
    return all;
  }

  [[nodiscard]] std::string in_folder(const std::string& name) const {
    return (std::filesystem::path(output) / name).string();
  }
};

}  // namespace

Run add_split(CLI::App& app) {
  auto verb = std::make_shared<SplitVerb>();
  add_inputs(app, "RATINGS", verb->ratings, "Interactions: user, item [, value] [, time]");
  add_path(app, "-o,--output", verb->output,
           "Folder for train.csv and test.csv (kfold and --rolling: fold-1/train.csv, ...)")
      ->type_name("DIR")
      ->required();
  CLI::Option* method = add_choice<SplitMethod>(
      app, "--method",
      {{"random", SplitMethod::kRandom},
       {"per-user", SplitMethod::kPerUser},
       {"last", SplitMethod::kLast},
       {"time", SplitMethod::kTime},
       {"kfold", SplitMethod::kKFold},
       {"cold-items", SplitMethod::kColdItems}},
      verb->options.method,
      "random rows of all; random rows of each user; the newest rows of each "
      "user; the newest rows of all; every row in the test part of one fold; or all rows of "
      "random items");
  add_number(app, "--test", verb->options.test,
             "random, per-user, time: share of rows in the test part; cold-items: share of items")
      ->type_name("SHARE")
      ->capture_default_str();
  add_number(app, "--rows", verb->options.rows,
             "per-user: how many random rows per user, in place of a share");
  add_number(app, "--last", verb->options.last, "last: how many newest rows per user")
      ->capture_default_str();
  add_moment(app, "--at", verb->options.at,
             "time: the test begins here, as 2026-01-01; without --method it is time");
  add_number(app, "--rolling", verb->options.rolling,
             "time: so many tests one after the other, each with all that is older to train on; "
             "without --method it is time");
  app.parse_complete_callback([raw = verb.get(), method] {
    const bool by_time = raw->options.at || raw->options.rolling > 0;
    if (by_time && method->empty()) raw->options.method = SplitMethod::kTime;
  });
  add_number(app, "--folds", verb->options.folds, "kfold: how many folds")->capture_default_str();
  add_number(app, "--seed", verb->options.seed, "Same seed, same split")->capture_default_str();
  add_common_options(app, verb->common);
  add_reading_options(app, verb->reading);
  add_weighing_options(app, verb->reading);
  app.footer(
      "Examples:\n"
      "  likewise split ratings.csv -o parts --test 0.1\n"
      "  likewise split ratings.csv.gz -o parts --method last --last 2\n"
      "  likewise split ratings.csv -o parts --method per-user --test 0.2\n"
      "  likewise split ratings.csv -o folds --method kfold --folds 5\n"
      "  likewise split ratings.csv -o parts --method cold-items --test 0.2\n"
      "  likewise split ratings.csv -o parts --at 2026-01-01\n"
      "  likewise split ratings.csv -o weeks --rolling 4");
  verb->reading.keep_times = true;
  verb->given = &app;
  return on_threads(verb);
}

}  // namespace likewise::cli
