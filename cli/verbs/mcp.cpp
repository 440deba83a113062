// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include "likewise/control.h"
#include "options/options.h"
#include "options/paths.h"
#include "options/titles.h"
#include "server/mcp/lines.h"
#include "server/served_model.h"
#include "verb.h"

namespace likewise::cli {
namespace {

struct Mcp {
  const CLI::App* given = nullptr;
  std::string model_path;
  TitlesOption titles_option;
  Common common;

  void run() {
    refuse_idle_titles(*given, titles_option);
    check_paths({{"MODEL", model_path}, {"--titles", titles_option.path}});
    Progress progress(common.quiet);
    progress.stage("load");
    server::Service service;
    service.serve(load(progress));
    (void)progress.finish();
    progress.say(fmt::format("answers for {} on standard input and output", model_path));
    server::mcp::serve_lines(service, STDIN_FILENO, STDOUT_FILENO);
  }

  [[nodiscard]] std::shared_ptr<const server::ServedModel> load(Progress& progress) const {
    const Device device = announced_device(common, progress);
    return server::load_served({model_path, titles_option.path, titles_option.how, device}).model;
  }
};

}  // namespace

Run add_mcp(CLI::App& app) {
  auto verb = std::make_shared<Mcp>();
  add_path(app, "MODEL", verb->model_path, "A model file")->required();
  add_titles_options(app, verb->titles_option,
                     "What items are called, from a file of item ids and titles [the model's own]");
  add_device_options(app, verb->common);
  verb->given = &app;
  app.footer(
      "Speaks the Model Context Protocol: a program that runs agents starts it and writes a line\n"
      "of JSON for each request. Ends with its input, at SIGTERM and at SIGINT. A running\n"
      "`likewise serve` has the same tools at /mcp.\n\n"
      "In the configuration of such a program:\n"
      "  {\"mcpServers\": {\"films\": {\"command\": \"likewise\",\n"
      "                             \"args\": [\"mcp\", \"/data/model.safetensors\"]}}}\n\n"
      "Examples:\n"
      "  likewise mcp model.safetensors\n"
      "  likewise mcp model.safetensors --titles movies.csv");
  return on_threads(verb);
}

}  // namespace likewise::cli
