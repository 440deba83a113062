// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <memory>

#include "likewise/recommender.h"
#include "options/options.h"
#include "options/paths.h"
#include "options/titles.h"
#include "output/progress.h"
#include "verb.h"

namespace likewise::cli {
namespace {

struct MakeReport {
  const CLI::App* given = nullptr;
  std::string model_path;
  std::string output;
  TitlesOption titles_option;
  Common common;

  void run() const {
    refuse_idle_titles(*given, titles_option);
    check_paths({{"MODEL", model_path},
                 {"--titles", titles_option.path},
                 {"-o", output, PathUse::kOutput}});
    Progress progress(common.quiet);
    progress.stage("load");
    auto model = std::make_shared<Model>(load_model(model_path));
    model->titles = titles_for(*model, titles_option, progress);
    const Job lists[] = {lists_job(model->params)};
    const Device device = announced_device(common, progress, lists);
    progress.stage("report");
    write_report(describe_training(model, device, base_name(model_path), {}), output);
    progress.say("report: " + output);
  }
};

}  // namespace

Run add_report(CLI::App& app) {
  auto verb = std::make_shared<MakeReport>();
  add_path(app, "MODEL", verb->model_path, "A model file")->required();
  add_path(app, "-o,--output", verb->output, "The page to write")->type_name("HTML")->required();
  add_titles_options(app, verb->titles_option,
                     "What items are called, from a file of item ids and titles [the model's own]");
  add_device_options(app, verb->common);
  app.footer(
      "The page that `likewise train --report` writes, of a model that is trained already: charts "
      "and\n"
      "sample recommendations, in one file that needs no network.\n\n"
      "Example:\n"
      "  likewise report model.safetensors -o report.html");
  verb->given = &app;
  return on_threads(verb);
}

}  // namespace likewise::cli
