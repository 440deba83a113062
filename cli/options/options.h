// SPDX-License-Identifier: Apache-2.0
/// Options that several verbs share, and the small pieces to declare one.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "likewise/device.h"
#include "likewise/evaluation.h"
#include "likewise/read.h"
#include "likewise/recommender.h"
#include "likewise/suggestion.h"
#include "options/number_checks.h"
#include "output/progress.h"

namespace likewise::cli {

template <class T>
using Choices = std::vector<std::pair<std::string, T>>;

/// `--flag a|b|c`: `take` gets the value of the chosen name; other names are a usage error that
/// lists the right ones.
template <class T>
CLI::Option* add_choice(CLI::App& app, const std::string& flag, const Choices<T>& choices,
                        const std::function<void(T)>& take, const std::string& description) {
  std::vector<std::string> names;
  std::string joined;
  for (const auto& choice : choices) {
    names.push_back(choice.first);
    joined += (joined.empty() ? "" : "|") + choice.first;
  }
  const auto parse = [=](const std::string& given) {
    for (const auto& [name, value] : choices) {
      if (name == given) return take(value);
    }
    throw CLI::ValidationError(
        flag, "'" + given + "' is not one of " + joined + suggestion(given, names));
  };
  return app.add_option_function<std::string>(flag, parse, description)->type_name(joined);
}

/// The same, straight into a variable whose value now is the default.
template <class T>
CLI::Option* add_choice(CLI::App& app, const std::string& flag, const Choices<T>& choices,
                        T& target, const std::string& description) {
  CLI::Option* option = add_choice<T>(
      app, flag, choices, [&target](T value) { target = value; }, description);
  for (const auto& [name, value] : choices) {
    if (value == target) option->default_str(name);
  }
  return option;
}

/// An enum's names in its order, as choices.
template <class T>
[[nodiscard]] Choices<T> choices_of(std::span<const std::string_view> names) {
  Choices<T> choices;
  for (std::size_t i = 0; i < names.size(); ++i) {
    choices.emplace_back(std::string(names[i]), static_cast<T>(i));
  }
  return choices;
}

/// The entries of a list with commas or of a repeated option. Throws CLI::ValidationError where one
/// is empty: what comes after it would move into its place.
[[nodiscard]] std::vector<std::string> entries_of(const std::string& flag,
                                                  const std::vector<std::string>& given);

/// What is wrong with an entry of a list; empty where nothing is.
template <class T>
[[nodiscard]] std::string entry_fault(const std::string& entry) {
  if constexpr (std::is_arithmetic_v<T>) return number_fault<T>(entry);
  return {};
}

/// A list with commas or a repeated option: `-k 10,20` or `-k 10 -k 20`.
template <class T>
CLI::Option* add_list(
    CLI::App& app, const std::string& flag, std::vector<T>& target, const std::string& description,
    const std::function<std::string(const std::string&)>& fault = entry_fault<T>) {
  const auto parse = [=, &target](const std::vector<std::string>& given) {
    target.clear();
    for (const std::string& entry : entries_of(flag, given)) {
      const std::string why = fault(entry);
      if (!why.empty()) throw CLI::ValidationError(flag, why);
      CLI::detail::lexical_cast(entry, target.emplace_back());
    }
  };
  return app.add_option_function<std::vector<std::string>>(flag, parse, description)
      ->allow_extra_args(false);
}

/// The heading of the options of add_reading_options().
inline constexpr const char* kReadingGroup = "Reading";

/// Puts the options under a heading and asks for exactly one of them.
void require_one(CLI::App& app, const std::vector<CLI::Option*>& options);

/// What every verb has.
struct Common {
  bool quiet = false;
  int threads = 0;
  std::string device = "auto";
  Offset device_memory = 0;
};
/// --quiet and --threads: for every verb.
void add_common_options(CLI::App& app, Common& common);
/// --device and the common ones: for verbs that train or ask a model.
void add_device_options(CLI::App& app, Common& common);
/// --device-memory: for verbs that train.
void add_device_memory_option(CLI::App& app, Common& common);
/// Where rows go: a RowWriter's path, and whether --json was given.
struct RowOutput {
  std::string path = "-";
  bool json = false;
};
/// --output and --json, --device and the common ones: for verbs that print rows.
void add_row_options(CLI::App& app, RowOutput& output, Common& common);
/// Throws Error(kInvalidArgument) for --json where the file's extension says the form.
void check_json(const RowOutput& output);
/// --format, --columns, --delimiter, --header, --on-bad-row: for every verb that reads rows.
void add_format_options(CLI::App& app, ReadOptions& options);
/// These, and --values, --since, --until, --duplicates and --min-*: for every verb that reads
/// interactions.
void add_reading_options(CLI::App& app, ReadOptions& options);
/// --half-life and --now: for verbs whose interactions are to be learned from.
void add_weighing_options(CLI::App& app, ReadOptions& options);
/// An option or argument that names a file or folder; an empty name is a usage error.
CLI::Option* add_path(CLI::App& app, const std::string& flag, std::string& path,
                      const std::string& description);
/// An option whose text cannot be empty: that is a usage error.
CLI::Option* add_text(CLI::App& app, const std::string& flag, std::string& text,
                      const std::string& description);
/// An argument that names files or folders whose rows are read as one.
CLI::Option* add_inputs(CLI::App& app, const std::string& name, std::vector<std::string>& paths,
                        const std::string& description);
/// -k, --metrics and --min-relevant-value, under a heading of the help.
void add_measures(CLI::App& app, EvaluateOptions& options, const char* group = "Options");
/// --clip of verbs that predict ratings; absent: as the model says.
CLI::Option* add_clip_option(CLI::App& app, std::optional<bool>& clip);
/// `--flag TIME`: a date, a moment or seconds since 1970; else a usage error.
CLI::Option* add_moment(CLI::App& app, const char* flag, std::optional<Time>& target,
                        const char* help);
/// -o, --output.
CLI::Option* add_output_option(CLI::App& app, std::string& path, const std::string& description);

/// An option that would do nothing is a mistake: throws Error(kInvalidArgument) saying what it
/// needs where `option` was given and is not `used`.
void refuse_idle(const CLI::App& app, const char* option, bool used, std::string_view needs);
/// The same for all options of add_reading_options() that the verb has.
void refuse_idle_reading(const CLI::App& app, bool used, std::string_view needs);
/// Throws Error(kInvalidArgument) where both options are given, which say what lists hold, and for
/// a number of negatives below 1.
void check_few_items(const CLI::App& app, const char* candidates, const char* negatives,
                     Index count);

/// What an add_VERB returns: the verb's run() on as many threads as its options say.
template <class Verb>
[[nodiscard]] std::function<void()> on_threads(const std::shared_ptr<Verb>& verb) {
  return [verb] { with_threads(verb->common.threads, [&] { verb->run(); }); };
}

/// Opens the device, which has to do these jobs, and says which one it is.
[[nodiscard]] Device announced_device(const Common& common, Progress& progress,
                                      std::span<const Job> jobs = {});

/// `options` for data of this feedback: ratings have to have values.
[[nodiscard]] ReadOptions reading_for(Feedback feedback, ReadOptions options);

/// `options` for pairs alone, as candidates are: of the same form, without values and filters.
[[nodiscard]] ReadOptions reading_of_pairs(ReadOptions options);

/// `options` for what a model is measured on, whose values are as they are.
[[nodiscard]] ReadOptions held_out(ReadOptions options);

/// Reads interactions in a stage of their own and says what was met (sizes, merged and dropped
/// rows).
[[nodiscard]] Interactions read_with_report(const std::string& path, const ReadOptions& options,
                                            Progress& progress, const char* stage = "read",
                                            ReadSummary* summary = nullptr);
[[nodiscard]] Interactions read_with_report(const std::vector<std::string>& paths,
                                            const ReadOptions& options, Progress& progress,
                                            const char* stage = "read",
                                            ReadSummary* summary = nullptr);

/// The same for the pairs of a file, in its order.
[[nodiscard]] Pairs read_pairs_with_report(const std::string& path, const ReadOptions& options,
                                           Progress& progress);

/// Ends the last stage; unless rows went to standard output, says what came to be where:
/// "lists.csv: 50 recommendations for 5 users, 12 ms".
void say_written(const std::string& path, const std::string& what, Progress& progress);

/// Says what predictions took of a GPU's memory; nothing where they took none.
void say_device_memory(const Device& device, const Recommender& recommender, Progress& progress);

/// The last part of a path; of several "a.csv and 3 more".
[[nodiscard]] std::string base_name(const std::string& path);
[[nodiscard]] std::string base_name(const std::vector<std::string>& paths);

}  // namespace likewise::cli
