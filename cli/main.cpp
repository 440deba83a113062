// SPDX-License-Identifier: Apache-2.0
/// The program `likewise`: a table of verbs, and the one place where errors become exit codes:
/// 0 done, 1 failed, 2 wrong usage.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "likewise/error.h"
#include "likewise/evaluation.h"
#include "likewise/knn.h"
#include "likewise/suggestion.h"
#include "likewise/tune.h"
#include "likewise/version.h"
#include "options/help.h"
#include "options/options.h"
#include "options/training_options.h"
#include "output/completion.h"
#include "output/interrupt.h"
#include "output/messages.h"
#include "output/rows.h"
#include "output/text.h"
#include "verb.h"

namespace likewise::cli {
namespace {

struct Verb {
  const char* name;
  const char* summary;
  Run (*add)(CLI::App&);
};

Run add_completion(CLI::App& app);

constexpr std::array<Verb, 18> kVerbs = {{
    {"demo", "See everything at work on a synthetic cinema, in seconds", add_demo},
    {"generate", "Make synthetic interactions of a known shape", add_generate},
    {"split", "Split interactions into a training and a test part", add_split},
    {"train", "Learn a model from interactions", add_train},
    {"tune", "Search for good parameters, and learn a model by the best", add_tune},
    {"update", "Let a model grow by new interactions", add_update},
    {"evaluate", "Measure a model on held-out interactions", add_evaluate},
    {"cross-validate", "Train and measure on folds: the mean and spread of each metric",
     add_cross_validate},
    {"predict", "Predict the value of each (user, item) row", add_predict},
    {"recommend", "Recommend items to users", add_recommend},
    {"similar", "List items or users that are alike", add_similar},
    {"serve", "Answer over HTTP: recommendations, similar items, reasons", add_serve},
    {"mcp", "Answer to agents, by the Model Context Protocol", add_mcp},
    {"report", "Write a page about a model: charts and sample recommendations", add_report},
    {"compare", "Trainings side by side: metrics against seconds, as a table and a page",
     add_compare},
    {"autotune", "Find the fastest kernels for training on this machine's GPU", add_autotune},
    {"info", "Devices and threads, or what a model or data file holds", add_info},
    {"completion", "Print what lets bash, zsh or fish complete these words", add_completion},
}};

/// What `tune` searches among.
std::vector<std::string> searched_names() {
  std::vector<std::string> names{"all"};
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    for (const std::string_view name : tuned_algorithms(feedback)) {
      if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
    }
  }
  return names;
}

/// Names that a value may have where the type of an option does not list them; of lists the first.
std::vector<std::string> known_values(const std::string& option) {
  if (option == "--similarity") return {std::begin(kSimilarityNames), std::end(kSimilarityNames)};
  if (option == "--device") return {"auto", "cpu", "cuda", "reference"};
  if (option == "--algorithm") return searched_names();
  const bool metric =
      option == "--metric" || option == "--metrics" || option == "--validation-metric";
  return metric ? metric_names() : std::vector<std::string>{};
}

/// The words of an option; those of a choice are its type's name, "a|b"; what is to be filled in is
/// in capitals.
OptionWords words_of(const CLI::Option& option) {
  OptionWords words;
  for (const std::string& name : option.get_lnames()) words.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) words.names.push_back("-" + name);
  words.help = option.get_description();
  words.takes_value = option.get_items_expected_max() > 0;
  const std::string type = option.get_type_name();
  const bool listed = type.find('|') != std::string::npos && std::islower(type.front()) != 0;
  if (listed) words.choices = CLI::detail::split(type, '|');
  if (!listed && !words.names.empty()) words.choices = known_values(words.names.front());
  words.is_list = type == "LIST" && !words.choices.empty();
  return words;
}

VerbWords words_of(const Verb& verb) {
  CLI::App app;
  app.set_help_flag("-h,--help", "Print this help");
  (void)verb.add(app);
  VerbWords words{verb.name, verb.summary, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    OptionWords found = words_of(*option);
    if (!option->get_positional()) {
      words.options.push_back(std::move(found));
    } else if (!found.choices.empty()) {
      words.choices = std::move(found.choices);
    }
  }
  return words;
}

/// `likewise completion SHELL`
Run add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  add_choice<std::string>(app, "SHELL", {{"bash", "bash"}, {"zsh", "zsh"}, {"fish", "fish"}},
                          *shell, "For which shell")
      ->required();
  app.footer(
      "Examples:\n"
      "  likewise completion bash > ~/.local/share/bash-completion/completions/likewise\n"
      "  likewise completion zsh > ~/.zfunc/_likewise        # a folder of $fpath\n"
      "  likewise completion fish > ~/.config/fish/completions/likewise.fish");
  return [shell] {
    std::vector<VerbWords> verbs;
    for (const Verb& verb : kVerbs) verbs.push_back(words_of(verb));
    print_result(completion_script(*shell, verbs));
  };
}

constexpr int kFailed = 1;
constexpr int kUsage = 2;

struct Outcome {
  ErrorKind kind;
  int exit_code;
};

/// What each kind of error is to a shell.
constexpr std::array<Outcome, 8> kOutcomes = {{
    {ErrorKind::kInvalidArgument, kUsage},
    {ErrorKind::kBadData, kFailed},
    {ErrorKind::kNotFound, kFailed},
    {ErrorKind::kIo, kFailed},
    {ErrorKind::kOutOfMemory, kFailed},
    {ErrorKind::kNumerical, kFailed},
    {ErrorKind::kDevice, kFailed},
    {ErrorKind::kCancelled, kFailed},
}};

int exit_code(ErrorKind kind) {
  const auto* found = std::find_if(kOutcomes.begin(), kOutcomes.end(),
                                   [kind](const Outcome& o) { return o.kind == kind; });
  return found == kOutcomes.end() ? kFailed : found->exit_code;
}

int complain(int code, std::string_view message, std::string_view hint = "") {
  if (!claim_last_word()) return code;
  const Style style(stderr);
  const std::string_view line_end = hint.empty() ? "" : "\n";
  print_message(fmt::format("{} {}\n{}{}", style.bad("likewise:"), printable_message(message), hint,
                            line_end));
  return code;
}

std::string general_help() {
  const Style style(stdout);
  std::string text = fmt::format(
      "likewise {}: learns from who liked what, and answers \"you might also like\".\n\n"
      "Usage: likewise VERB [OPTIONS]\n\nVerbs:\n",
      kVersion);
  for (const Verb& verb : kVerbs) {
    text += fmt::format("  {}{}\n", style.bold(fit(verb.name, 15)), verb.summary);
  }
  return text +
         "\n`likewise VERB --help` (or `likewise help VERB`) explains a verb, with an example.\n"
         "New here? Start with `likewise demo`. On your own data:\n\n"
         "  likewise split ratings.csv -o parts\n"
         "  likewise train parts/train.csv -o model.safetensors\n"
         "  likewise evaluate model.safetensors parts/test.csv\n"
         "  likewise recommend model.safetensors --user 42 -n 5\n";
}

const Verb* find_verb(std::string_view name) {
  const auto* found = std::find_if(kVerbs.begin(), kVerbs.end(),
                                   [name](const Verb& verb) { return verb.name == name; });
  return found == kVerbs.end() ? nullptr : found;
}

int unknown_verb(const std::string& name) {
  std::vector<std::string> names;
  for (const Verb& verb : kVerbs) names.emplace_back(verb.name);
  return complain(kUsage,
                  fmt::format("there is no verb '{}'{}", printable(name), suggestion(name, names)),
                  "Run `likewise --help` for all verbs.");
}

/// What CLI11 says of options that are given as they cannot be, in the words of the others.
std::string misuse_message(const CLI::App& app, const CLI::ParseError& error) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() != 1 || option->count() <= 1) continue;
    return fmt::format("{} is given {} times: once is enough", option->get_name(), option->count());
  }
  const std::string_view told = error.what();
  const std::size_t end = told.find(" was given a disallowed flag override");
  if (end == std::string_view::npos) return error.what();
  return fmt::format("--{} is a flag and takes no value", told.substr(0, end));
}

/// One line that says what is wrong with the options; a mistyped one gets the nearest right one.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  std::vector<std::string> extras = app.remaining();
  std::erase(extras, "--");
  if (extras.empty()) return misuse_message(app, error);
  std::string given = extras.front().substr(0, extras.front().find('='));
  if (!given.starts_with("-")) {
    return fmt::format("unexpected argument '{}'", printable(extras.front()));
  }
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flags.push_back("-" + name);
  }
  return fmt::format("there is no option '{}'{}", printable(given), suggestion(given, flags));
}

int run_verb(const Verb& verb, std::vector<std::string> arguments) {
  const std::string name = fmt::format("likewise {}", verb.name);
  CLI::App app(verb.summary, name);
  app.set_help_flag("-h,--help", "Print this help");
  app.formatter(std::make_shared<HelpFormatter>());
  const Run run = verb.add(app);
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) option->disable_flag_override();
  }
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    print_result(app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    return complain(kUsage, usage_message(app, error), fmt::format("Run `{} --help`.", name));
  }
  run();
  return 0;
}

int dispatch(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h") {
    print_result(general_help());
    return 0;
  }
  if (arguments[0] == "--version") {
    print_result(fmt::format("likewise {}\n", kVersion));
    return 0;
  }
  if (arguments[0] == "help") {
    arguments.erase(arguments.begin());
    if (arguments.empty()) return dispatch({});
    arguments.push_back("--help");
  }
  const std::string name = arguments[0];
  if (const Verb* verb = find_verb(name)) {
    arguments.erase(arguments.begin());
    return run_verb(*verb, std::move(arguments));
  }
  if (name.starts_with("-")) {
    return complain(kUsage, fmt::format("'{}' before a verb", printable(name)),
                    "Options follow the verb: `likewise VERB [OPTIONS]`. See `likewise --help`.");
  }
  return unknown_verb(name);
}

int guarded(std::vector<std::string> arguments) {
  try {
    return dispatch(std::move(arguments));
  } catch (const Error& error) {
    const bool stopped = error.kind() == ErrorKind::kCancelled;
    const std::string signal = stopped ? fmt::format(" ({})", stop_signal()) : "";
    return complain(exit_code(error.kind()), error.message(as_option) + signal);
  } catch (const std::bad_alloc&) {
    return complain(kFailed, "out of memory; fewer factors, rows or threads need less");
  } catch (const std::exception& error) {
    const std::string_view what = error.what();
    if (what.find("pthread_create") != std::string_view::npos) {
      return complain(kFailed, fmt::format("a thread cannot be started ({}); ask for fewer "
                                           "--threads, or raise the limit of memory or processes",
                                           what));
    }
    return complain(kFailed, fmt::format("unexpected failure: {}", what));
  }
}

}  // namespace
}  // namespace likewise::cli

int main(int argc, char** argv) {
  likewise::cli::occupy_closed_streams();
  setenv("OPENBLAS_NUM_THREADS", "1", 1);  // it would make threads when it is loaded
  likewise::cli::install_signal_handlers();
  return likewise::cli::guarded({argv + 1, argv + argc});
}
