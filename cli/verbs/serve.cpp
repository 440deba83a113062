// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "likewise/control.h"
#include "likewise/error.h"
#include "likewise/model.h"
#include "likewise/model_checksum.h"
#include "likewise/recommender.h"
#include "likewise/tune.h"
#include "likewise/update.h"
#include "options/options.h"
#include "options/paths.h"
#include "options/titles.h"
#include "server/events/live.h"
#include "server/events/updater.h"
#include "server/host_name.h"
#include "server/http/http_server.h"
#include "server/model_watch.h"
#include "verb.h"
#include "verbs/serving.h"

namespace likewise::cli {
namespace {

using std::chrono::milliseconds;

constexpr const char* kOff = "off";  ///< in place of a store of events

[[nodiscard]] milliseconds milliseconds_of(double seconds) {
  return milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

/// Events that a model cannot learn, and whose they are: a few users by name.
[[nodiscard]] std::string set_aside_text(const std::string& of_model,
                                         const server::SetAside& aside) {
  constexpr std::size_t kNamed = 5;
  std::string users;
  for (std::size_t u = 0; u < std::min(kNamed, aside.users.size()); ++u) {
    users += fmt::format("{}'{}'", u == 0 ? "" : ", ", printable(aside.users[u]));
  }
  if (aside.users.size() > kNamed) {
    users += fmt::format(" and {} more", aside.users.size() - kNamed);
  }
  return fmt::format("the model{} goes on without {} of user{} {}, which it cannot learn: {}",
                     of_model, counted(aside.events, "event"), aside.users.size() == 1 ? "" : "s",
                     users, aside.reason);
}

struct Serve {
  const CLI::App* given = nullptr;
  std::string model_path;
  std::vector<std::string> models;  ///< NAME=FILE, in place of model_path
  std::vector<double> shares;
  std::string listen = kUsualListen;
  std::string tokens_path;
  bool anonymous = false;
  std::vector<std::string> hosts;
  std::vector<std::string> proxies;
  std::string log_path;
  bool log_personal = false;
  double watch = 1.0;
  std::string events;  ///< empty: beside the model
  std::optional<Duplicates> duplicates;
  double update_every = 0.0;  ///< seconds; 0: never
  bool compact = false;
  double idle = 75.0;
  double header_time = 10.0;
  double body_time = 30.0;
  double drain = 0.0;
  double shutdown = 10.0;
  server::Limits limits;
  std::vector<std::string> files;  ///< of the models
  server::Split split;
  TitlesOption titles_option;
  Common common;

  void run() {
    refuse_idle_titles(*given, titles_option);
    refuse_idle(*given, "--log-personal", !log_path.empty(), "--access-log");
    refuse_idle(*given, "--duplicates", events != kOff, "events");
    refuse_idle(*given, "--update-every", events != kOff, "events");
    refuse_idle(*given, "--compact", update_every > 0, "--update-every");
    read_models();
    check_paths(models.empty() ? "MODEL" : "--models", files,
                {{"--tokens", tokens_path},
                 {"--titles", titles_option.path},
                 {"--access-log", log_path, PathUse::kOutput},
                 {"--events", events_file(), PathUse::kInFolder}});
    const server::Address address = server::read_address(listen);
    refuse_open_door(address);
    read_hosts(address);
    (void)trusted();
    Progress progress(common.quiet);
    progress.stage("load");
    serve(address, progress);
  }

  /// Sets `files` and `split`.
  void read_models() {
    refuse_idle(*given, "--split", !models.empty(), "--models");
    if (models.empty()) {
      files = {model_path};
      return;
    }
    std::vector<std::string> names;
    for (const std::string& one : models) {
      const std::size_t at = one.find('=');
      if (at == std::string::npos || at + 1 == one.size()) {
        throw Error(ErrorKind::kInvalidArgument,
                    fmt::format("--models {}: give each as NAME=FILE", printable(one)));
      }
      names.push_back(one.substr(0, at));
      files.push_back(one.substr(at + 1));
      if (std::ranges::count(files, files.back()) == 1) continue;
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("--models {}: the file is named twice", printable(one)));
    }
    try {
      split = server::Split(std::move(names), shares);
    } catch (const Error& error) {
      throw Error(
          error.kind(),
          fmt::format("--{}: {}", shares.empty() ? "models" : "models, --split", error.what()));
    }
  }

  void refuse_open_door(const server::Address& address) const {
    refuse_idle(*given, "--allow-anonymous", tokens_path.empty(), "no --tokens");
    if (address.is_loopback() || !tokens_path.empty() || anonymous) return;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--listen {} lets other machines ask: name their tokens by --tokens "
                            "FILE, or say --allow-anonymous",
                            listen));
  }

  [[nodiscard]] server::TrustedProxies trusted() const {
    try {
      return server::TrustedProxies::read(proxies);
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("--trust-proxy: {}", error.what()));
    }
  }

  void read_hosts(const server::Address& address) {
    refuse_idle(*given, "--host", address.is_loopback(), "a --listen on loopback");
    for (std::string& host : hosts) host = server::read_host_name(host);
  }

  void serve(const server::Address& address, Progress& progress) {
    limits.idle = milliseconds_of(idle);
    limits.header_time = milliseconds_of(header_time);
    limits.body_time = milliseconds_of(body_time);
    limits.drain = milliseconds_of(drain);
    limits.shutdown = milliseconds_of(shutdown);
    for (const std::string& file : files)
      (void)model_checksum(file);  // before a store is made beside it
    const auto say = [&](const std::string& line) { progress.warn(line); };
    const std::unique_ptr<server::Live> live = open_events(say);
    server::Service service(limits, split);
    if (live != nullptr) service.use_events(*live, duplicates);
    server::Front front(service, {!address.is_loopback(), hosts});
    read_tokens(front);
    server::AccessLog log(log_path, log_personal, service.metrics());
    const Device device = announced_device(common, progress);
    std::deque<server::ModelWatch> watches;
    for (std::size_t m = 0; m < files.size(); ++m) {
      watches.emplace_back(
          service, server::ModelSource{files[m], titles_option.path, titles_option.how, device},
          milliseconds_of(watch), say, m);
    }
    const std::unique_ptr<server::Updater> updater = start_updates(live.get(), watches, say);
    if (updater != nullptr) service.use_updates(*updater);
    server::HttpServer http(front, service, log, address, thread_count());
    http.trust(trusted());
    http.on_hangup([&] {
      log.reopen();
      for (server::ModelWatch& one : watches) one.look_now();
      try {
        read_tokens(front);
      } catch (const Error& error) {
        say(fmt::format("the tokens before stay: {}", error.what()));
      }
    });
    (void)progress.finish();
    if (events.empty()) progress.say("what it takes in: " + events_path());
    progress.say(fmt::format("serves {} at http://{}", models_text(), http.address().text()));
    http.run();
    progress.say("ended");
  }

  /// Null where none are kept.
  [[nodiscard]] std::unique_ptr<server::Live> open_events(
      const std::function<void(const std::string&)>& say) const {
    if (events == kOff) return nullptr;
    return std::make_unique<server::Live>(server::open_event_store(events_path()),
                                          server::Live::Options{.say = say});
  }

  [[nodiscard]] std::string events_path() const {
    return events.empty() ? files.front() + ".events" : events;
  }

  /// Empty where they are in no file.
  [[nodiscard]] std::string events_file() const {
    const std::string path = events_path();
    return events == kOff || path.find("://") != std::string::npos ? std::string() : path;
  }

  [[nodiscard]] std::string models_text() const {
    if (models.empty()) return files.front();
    std::string text;
    for (std::size_t m = 0; m < files.size(); ++m) {
      text += fmt::format("{}{} ({}, {:.3g} % of the users)", m == 0 ? "" : ", ", split.names()[m],
                          files[m], 100.0 * split.share(m));
    }
    return text;
  }

  /// Null where there are none.
  [[nodiscard]] std::unique_ptr<server::Updater> start_updates(
      server::Live* live, std::deque<server::ModelWatch>& watches,
      const server::ModelWatch::Say& say) const {
    if (update_every == 0) return nullptr;
    for (const std::string& file : files) require_updatable(load_model(file), {});
    // Which of them: nothing where there is one.
    const auto of_model = [this](std::size_t m) {
      return models.empty() ? std::string() : " " + split.names()[m];
    };
    return std::make_unique<server::Updater>(
        live->store(),
        server::Updater::Plan{files,
                              milliseconds_of(update_every),
                              {.duplicates = duplicates, .device = common.device},
                              compact},
        [&watches, say, of_model](std::size_t m, const server::FoldReport& report) {
          if (report.set_aside.events > 0) say(set_aside_text(of_model(m), report.set_aside));
          say(fmt::format("the model{} has learned {}: {} and {} are new", of_model(m),
                          counted(report.events, "event"), counted(report.new_users, "user"),
                          counted(report.new_items, "item")));
          watches[m].look_now();
        },
        [say, of_model](std::size_t m, const std::string& reason) {
          say(fmt::format("the model{} was not updated, the one before stays: {}", of_model(m),
                          reason));
        });
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
  add_number(app, "--rate", verb.limits.rate,
             "Requests a second of one address, but of /healthz, /readyz and /metrics; 0: any "
             "number",
             {0.0, 1e6})
      ->capture_default_str()
      ->group(kGroup);
  add_list(app, "--trust-proxy", verb.proxies,
           "Networks of proxies, as 10.0.0.0/8 or 127.0.0.1, whose X-Forwarded-For says who asks, "
           "for --rate and the access log")
      ->type_name("NETWORKS")
      ->group(kGroup);
}

void add_event_options(CLI::App& app, Serve& verb) {
  constexpr const char* kGroup = "Events";
  add_path(app, "--events", verb.events,
           "Where events are kept: a SQLite file, postgresql://..., which several servers share, "
           "or off")
      ->type_name("FILE|URL|off")
      ->default_str("MODEL.events")
      ->group(kGroup);
  const std::function<void(Duplicates)> choose = [raw = &verb](Duplicates how) {
    raw->duplicates = how;
  };
  add_choice<Duplicates>(
      app, "--duplicates",
      {{"sum", Duplicates::kSum}, {"last", Duplicates::kLast}, {"max", Duplicates::kMax}}, choose,
      "What a user's values of one item become [implicit sum, explicit last]")
      ->group(kGroup);
  const auto every = [raw = &verb](const std::string& text) {
    try {
      raw->update_every = parse_budget(text).seconds;
    } catch (const Error&) {
      raw->update_every = 0;
    }
    if (raw->update_every <= 0) {
      throw CLI::ValidationError("--update-every", "needs a time, such as 30s, 10m or 1h");
    }
  };
  app.add_option_function<std::string>(
         "--update-every", every,
         "Write what events say into the model file, as `likewise update` does, on one processor "
         "at the lowest priority")
      ->type_name("TIME")
      ->group(kGroup);
  app.add_flag("--compact", verb.compact,
               "After an update, delete events that the model has learned and that are older than "
               "a day. A model trained without them does not have them then")
      ->group(kGroup);
}

void add_limit_options(CLI::App& app, Serve& verb) {
  constexpr const char* kGroup = "Limits";
  server::Limits& limits = verb.limits;
  add_number(app, "--max-n", limits.n, "Answers per list", {1, 100'000})
      ->capture_default_str()
      ->group(kGroup);
  add_number(app, "--max-batch", limits.batch, "Users, items or visitors of a request",
             {1, 100'000})
      ->capture_default_str()
      ->group(kGroup);
  add_number(app, "--max-body", limits.body, "Bytes of a body", {1024, 64 << 20})
      ->capture_default_str()
      ->group(kGroup);
  add_number(app, "--max-connections", limits.connections,
             "Open at once; beyond, one that is idle is closed", {1, 1'000'000})
      ->capture_default_str()
      ->group(kGroup);
  const auto add_seconds = [&](const char* flag, double& seconds, const char* help) {
    add_number(app, flag, seconds, help, {0.01, 86'400.0})
        ->type_name("SECONDS")
        ->capture_default_str()
        ->group(kGroup);
  };
  add_seconds("--idle-time", verb.idle, "Between two requests of a connection");
  add_seconds("--header-time", verb.header_time, "From the first byte of a header to its last");
  add_seconds("--body-time", verb.body_time, "For a body");
  add_number(app, "--drain-time", verb.drain,
             "At SIGTERM: /readyz says that the server ends, and requests are still taken",
             {0.0, 86'400.0})
      ->type_name("SECONDS")
      ->capture_default_str()
      ->group(kGroup);
  add_seconds("--shutdown-time", verb.shutdown, "For what is under way at SIGTERM");
}

}  // namespace

void check_loopback(const std::string& listen) {
  if (server::read_address(listen).is_loopback()) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("--listen {} lets other machines ask: `likewise serve` does that, with "
                          "--tokens FILE",
                          listen));
}

void serve_on_loopback(const std::string& model, const std::string& listen, const Common& common) {
  check_loopback(listen);
  Serve verb;
  verb.files = {model};
  verb.listen = listen;
  verb.common = common;
  Progress progress(common.quiet);
  progress.stage("load");
  verb.serve(server::read_address(listen), progress);
}

Run add_serve(CLI::App& app) {
  auto verb = std::make_shared<Serve>();
  CLI::Option* one = add_path(app, "MODEL", verb->model_path, "A model file");
  CLI::Option* several =
      add_list(app, "--models", verb->models,
               "In place of MODEL: several model files by name, which share the users")
          ->type_name("NAME=FILE,...");
  require_one(app, {one, several});
  constexpr const char* kGroup = "Several models";
  several->group(kGroup);
  add_list(app, "--split", verb->shares,
           "The share of the users that each answers, e.g. 90,10; a user stays with one model "
           "[equal]")
      ->type_name("NUMBERS")
      ->group(kGroup);
  add_titles_options(app, verb->titles_option,
                     "What items are called, from a file of item ids and titles [the model's own]");
  add_number(app, "--watch", verb->watch,
             "Seconds between looks at the model file: a new one is served in place of the old; "
             "0: only at SIGHUP",
             {0.0, 86'400.0})
      ->type_name("SECONDS")
      ->capture_default_str();
  add_path(app, "--access-log", verb->log_path,
           "A line of JSON for each request; - is standard output")
      ->type_name("FILE");
  app.add_flag("--log-personal", verb->log_personal,
               "Also addresses of clients, and whole addresses of requests with their ids");
  add_event_options(app, *verb);
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
      "  likewise serve model.safetensors --listen 0.0.0.0:8080 --tokens tokens.txt\n"
      "  likewise serve --models now=als.safetensors,next=ease.safetensors --split 90,10");
  return on_threads(verb);
}

}  // namespace likewise::cli
