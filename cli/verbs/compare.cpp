// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "likewise/error.h"
#include "options/options.h"
#include "options/paths.h"
#include "options/targets.h"
#include "output/rows.h"
#include "report/comparison.h"
#include "report/page.h"
#include "verb.h"

namespace likewise::cli {
namespace {

struct NamedRun {
  std::string name;
  std::string path;
};

/// "NAME=FILE", or a file whose name without folder and extension is that of the run.
[[nodiscard]] NamedRun named_run(const std::string& text) {
  const std::size_t at = text.find('=');
  NamedRun run;
  if (at == std::string::npos) {
    run = {std::filesystem::path(text).stem().string(), text};
  } else {
    run = {text.substr(0, at), text.substr(at + 1)};
  }
  if (!run.name.empty() && !run.path.empty()) return run;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("RUN '{}': name a file, or NAME=FILE to call it something else", text));
}

struct Compare {
  std::vector<std::string> given;
  std::optional<MetricTarget> target;
  std::string output;
  bool json = false;
  Common common;

  void run() const {
    if (given.size() > Comparison::kMostRuns) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("{} runs: a chart can tell {} from each other", given.size(),
                              Comparison::kMostRuns));
    }
    std::vector<NamedRun> named;
    std::vector<NamedPath> paths;
    for (const std::string& text : given) {
      named.push_back(named_run(text));
      paths.push_back({"RUN", named.back().path});
    }
    paths.push_back({"-o", output, PathUse::kOutput});
    paths.push_back({"the table on standard output", "-", PathUse::kOutput});
    check_paths(paths);
    Progress progress(common.quiet);
    Comparison comparison{{}, target};
    for (const NamedRun& one : named) {
      comparison.runs.push_back(read_run(one.path));
      comparison.runs.back().name = one.name;
    }
    comparison.check();
    const std::string different = comparison.different_data();
    if (!different.empty()) progress.warn(different);
    if (!output.empty()) write_page(comparison.as_page(), output);
    print_result(json ? comparison.as_json() : comparison.as_text());
    if (!output.empty()) progress.say("page: " + output);
  }
};

}  // namespace

Run add_compare(CLI::App& app) {
  auto verb = std::make_shared<Compare>();
  app.add_option("RUN", verb->given,
                 "What `likewise train --json` printed, or a model file; NAME=FILE calls the run "
                 "NAME")
      ->required();
  add_target_option(app, verb->target, "Also the seconds to reach this value");
  add_path(app, "-o,--output", verb->output, "Write a page with charts of all runs")
      ->type_name("HTML");
  app.add_flag("--json", verb->json, "Print one object instead of the table");
  add_common_options(app, verb->common);
  app.footer(
      "Runs have to be validated (`likewise train --validation`), all by the same metric. The page "
      "is\none file that needs no network.\n\n"
      "Examples:\n"
      "  likewise train parts/train.csv -o a.safetensors --validation parts/test.csv --json > "
      "a.json\n"
      "  likewise compare a.json \"64 factors=b.json\" -o compare.html --target ndcg@10=0.35");
  return on_threads(verb);
}

}  // namespace likewise::cli
