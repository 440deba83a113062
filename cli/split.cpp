// SPDX-License-Identifier: Apache-2.0
#include "likewise/split.h"

#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "likewise/write.h"
#include "options.h"
#include "verb.h"

namespace likewise::cli {
namespace {

namespace fs = std::filesystem;

struct SplitVerb {
  const CLI::App* given = nullptr;
  std::string ratings;
  std::string output;
  SplitOptions options;
  ReadOptions reading;
  Common common;

  void run() const {
    check_options();
    Progress progress(common.quiet);
    const Interactions all = read_with_report(ratings, reading, progress);
    progress.stage("split");
    const std::vector<Split> parts = split(all, options);
    progress.stage("write");
    if (parts.size() == 1) return write(parts.front(), output, progress);
    for (std::size_t f = 0; f < parts.size(); ++f) {
      write(parts[f], fs::path(output) / fmt::format("fold-{}", f + 1), progress);
    }
  }

  void check_options() const {
    const SplitMethod method = options.method;
    const bool random = method == SplitMethod::kRandom;
    refuse_idle(*given, "--test", random || method == SplitMethod::kTime,
                "--method random or time");
    refuse_idle(*given, "--last", method == SplitMethod::kLast, "--method last");
    refuse_idle(*given, "--folds", method == SplitMethod::kKFold, "--method kfold");
    refuse_idle(*given, "--seed", random || method == SplitMethod::kKFold,
                "--method random or kfold");
  }

  static void write(const Split& part, const fs::path& folder, Progress& progress) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) {
      throw Error(ErrorKind::kIo,
                  fmt::format("{}: cannot make the folder: {}", folder.string(), error.message()));
    }
    write_one(part.train, folder / "train.csv", progress);
    write_one(part.test, folder / "test.csv", progress);
  }

  static void write_one(const Interactions& data, const fs::path& path, Progress& progress) {
    write_interactions(data, path.string(), progress.control());
    progress.say(fmt::format("{}: {}", path.string(), counted(data.by_user.nnz(), "interaction")));
  }
};

}  // namespace

Run add_split(CLI::App& app) {
  auto verb = std::make_shared<SplitVerb>();
  app.add_option("RATINGS", verb->ratings, "Interactions: user, item [, value] [, time]")
      ->required();
  app.add_option("-o,--output", verb->output,
                 "Folder for train.csv and test.csv (kfold: fold-1/train.csv, ...)")
      ->type_name("DIR")
      ->required();
  add_choice<SplitMethod>(app, "--method",
                          {{"random", SplitMethod::kRandom},
                           {"last", SplitMethod::kLast},
                           {"time", SplitMethod::kTime},
                           {"kfold", SplitMethod::kKFold}},
                          verb->options.method,
                          "random rows; the newest rows of each user; the newest rows of all; or "
                          "every row in the test part of one fold");
  app.add_option("--test", verb->options.test, "random, time: share of rows in the test part")
      ->type_name("SHARE")
      ->capture_default_str();
  app.add_option("--last", verb->options.last, "last: how many newest rows per user")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--folds", verb->options.folds, "kfold: how many folds")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--seed", verb->options.seed, "Same seed, same split")
      ->type_name("N")
      ->capture_default_str();
  add_common_options(app, verb->common);
  add_reading_options(app, verb->reading);
  app.footer(
      "Examples:\n"
      "  likewise split ratings.csv -o parts --test 0.1\n"
      "  likewise split ratings.csv.gz -o parts --method last --last 2\n"
      "  likewise split ratings.csv -o folds --method kfold --folds 5");
  verb->reading.keep_times = true;
  verb->given = &app;
  return on_threads(verb);
}

}  // namespace likewise::cli
