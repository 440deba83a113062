// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "likewise/control.h"
#include "likewise/error.h"
#include "likewise/recommender.h"
#include "options/options.h"
#include "options/paths.h"
#include "options/titles.h"
#include "server/http/http_server.h"
#include "server/model_watch.h"
#include "verb.h"

namespace likewise::cli {
namespace {

using std::chrono::milliseconds;

[[nodiscard]] milliseconds milliseconds_of(double seconds) {
  return milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

struct Serve {
  const CLI::App* given = nullptr;
  std::string model_path;
  std::string listen = "127.0.0.1:8080";
  std::string tokens_path;
  bool anonymous = false;
  std::vector<std::string> hosts;
  std::string log_path;
  bool log_personal = false;
  double watch = 1.0;
  double idle = 75.0;
  double header_time = 10.0;
  double body_time = 30.0;
  double shutdown = 10.0;
  server::Limits limits;
  TitlesOption titles_option;
  Common common;

  void run() {
    refuse_idle_titles(*given, titles_option);
    refuse_idle(*given, "--log-personal", !log_path.empty(), "--access-log");
    check_paths({{"MODEL", model_path},
                 {"--tokens", tokens_path},
                 {"--titles", titles_option.path},
                 {"--access-log", log_path, PathUse::kOutput}});
    const server::Address address = server::read_address(listen);
    refuse_open_door(address);
    Progress progress(common.quiet);
    progress.stage("load");
    serve(address, progress);
  }

  void refuse_open_door(const server::Address& address) const {
    refuse_idle(*given, "--allow-anonymous", tokens_path.empty(), "no --tokens");
    if (address.is_loopback() || !tokens_path.empty() || anonymous) return;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--listen {} lets other machines ask: name their tokens by --tokens "
                            "FILE, or say --allow-anonymous",
                            listen));
  }

  void serve(const server::Address& address, Progress& progress) {
    limits.idle = milliseconds_of(idle);
    limits.header_time = milliseconds_of(header_time);
    limits.body_time = milliseconds_of(body_time);
    limits.shutdown = milliseconds_of(shutdown);
    server::Service service(limits);
    server::Front front(service, {!address.is_loopback(), hosts});
    read_tokens(front);
    server::AccessLog log(log_path, log_personal, service.metrics());
    const Device device = announced_device(common, progress);
    const auto say = [&](const std::string& line) { progress.warn(line); };
    server::ModelWatch watching(service,
                                {model_path, titles_option.path, titles_option.how, device},
                                milliseconds_of(watch), say);
    server::HttpServer http(front, service, log, address, thread_count());
    http.on_hangup([&] {
      log.reopen();
      watching.look_now();
      try {
        read_tokens(front);
      } catch (const Error& error) {
        say(fmt::format("the tokens before stay: {}", error.what()));
      }
    });
    (void)progress.finish();
    progress.say(fmt::format("serves {} at http://{}", model_path, http.address().text()));
    http.run();
    progress.say("ended");
  }

  void read_tokens(server::Front& front) const {
    if (!tokens_path.empty()) front.use_tokens(server::Tokens::read(tokens_path));
  }
};

void add_door_options(CLI::App& app, Serve& verb) {
  constexpr const char* kGroup = "Who may ask";
  app.add_option("--listen", verb.listen,
                 "Address and port; port 0: one that is free, which the first line names")
      ->type_name("ADDRESS:PORT")
      ->capture_default_str()
      ->group(kGroup);
  add_path(app, "--tokens", verb.tokens_path,
           "Bearer tokens: lines of `read TOKEN` and `write TOKEN`; read again at SIGHUP")
      ->type_name("FILE")
      ->group(kGroup);
  app.add_flag("--allow-anonymous", verb.anonymous, "Let other machines ask without a token")
      ->group(kGroup);
  add_list(app, "--host", verb.hosts,
           "On loopback: further names that requests may call this server by, as behind a proxy; "
           "localhost and addresses always do")
      ->type_name("NAMES")
      ->group(kGroup);
  add_number(app, "--rate", verb.limits.rate, "Requests a second of one address; 0: any number")
      ->check(CLI::Range(0.0, 1e6).description(""))
      ->capture_default_str()
      ->group(kGroup);
}

void add_limit_options(CLI::App& app, Serve& verb) {
  constexpr const char* kGroup = "Limits";
  server::Limits& limits = verb.limits;
  add_number(app, "--max-n", limits.n, "Answers per list")
      ->check(CLI::Range(1, 100'000).description(""))
      ->capture_default_str()
      ->group(kGroup);
  add_number(app, "--max-batch", limits.batch, "Users, items or visitors of a request")
      ->check(CLI::Range(1, 100'000).description(""))
      ->capture_default_str()
      ->group(kGroup);
  add_number(app, "--max-body", limits.body, "Bytes of a body")
      ->check(CLI::Range(1024, 64 << 20).description(""))
      ->capture_default_str()
      ->group(kGroup);
  add_number(app, "--max-connections", limits.connections,
             "Open at once; beyond, one that is idle is closed")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->capture_default_str()
      ->group(kGroup);
  const auto add_seconds = [&](const char* flag, double& seconds, const char* help) {
    add_number(app, flag, seconds, help)
        ->check(CLI::Range(0.01, 86'400.0).description(""))
        ->type_name("SECONDS")
        ->capture_default_str()
        ->group(kGroup);
  };
  add_seconds("--idle-time", verb.idle, "Between two requests of a connection");
  add_seconds("--header-time", verb.header_time, "From the first byte of a header to its last");
  add_seconds("--body-time", verb.body_time, "For a body");
  add_seconds("--shutdown-time", verb.shutdown, "For what is under way at SIGTERM");
}

}  // namespace

Run add_serve(CLI::App& app) {
  auto verb = std::make_shared<Serve>();
  add_path(app, "MODEL", verb->model_path, "A model file")->required();
  add_titles_options(app, verb->titles_option,
                     "What items are called, from a file of item ids and titles [the model's own]");
  add_number(app, "--watch", verb->watch,
             "Seconds between looks at the model file: a new one is served in place of the old; "
             "0: only at SIGHUP")
      ->check(CLI::Range(0.0, 86'400.0).description(""))
      ->type_name("SECONDS")
      ->capture_default_str();
  add_path(app, "--access-log", verb->log_path,
           "A line of JSON for each request; - is standard output")
      ->type_name("FILE");
  app.add_flag("--log-personal", verb->log_personal,
               "Also addresses of clients, and whole addresses of requests with their ids");
  add_door_options(app, *verb);
  add_limit_options(app, *verb);
  add_device_options(app, verb->common);
  verb->given = &app;
  app.footer(
      "Listens on this machine alone unless told otherwise. /openapi.json says all that can be\n"
      "asked. SIGHUP reads model and tokens again; SIGTERM and SIGINT end, once requests under\n"
      "way are answered.\n\n"
      "Examples:\n"
      "  likewise serve model.safetensors\n"
      "  curl 'localhost:8080/v1/recommend?user=42&n=5'\n"
      "  curl localhost:8080/v1/recommend -H 'Content-Type: application/json' \\\n"
      "       -d '{\"likes\": [17, 256], \"reasons\": 2}'\n"
      "  likewise serve model.safetensors --listen 0.0.0.0:8080 --tokens tokens.txt");
  return on_threads(verb);
}

}  // namespace likewise::cli
