// SPDX-License-Identifier: Apache-2.0
#include "options/options.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "options/training_options.h"

namespace likewise::cli {
namespace {

/// What reading left out or merged: "3 repeated rows merged, 1 bad row skipped".
std::string reading_notes(const ReadSummary& summary) {
  std::string notes;
  const auto note = [&](Offset count, const char* one, const char* what) {
    if (count > 0)
      notes += fmt::format("{}{} {}", notes.empty() ? "" : ", ", counted(count, one), what);
  };
  note(summary.duplicates, "repeated row", "merged");
  note(summary.outside_times, "row", "before --since or from --until on dropped");
  note(summary.below_min_value, "row", "below --min-value dropped");
  note(summary.below_min_count, "row", "of rare users or items dropped");
  note(summary.bad_rows, "bad row", "skipped");
  return notes;
}

/// What a file held; `rows` counts them.
void say_read(const std::string& name, const IdMap& users, const IdMap& items,
              const std::string& rows, const ReadSummary& summary, Progress& progress) {
  progress.say(fmt::format("{}: {}, {}, {} ({})", name, counted(users.size(), "user"),
                           counted(items.size(), "item"), rows, summary.format));
  const std::string notes = reading_notes(summary);
  if (!notes.empty()) progress.say("  " + notes);
  if (!summary.first_bad_row.empty()) {
    progress.say("  the first bad row: " + spelled(summary.first_bad_row, as_option));
  }
}

}  // namespace

std::vector<std::string> entries_of(const std::string& flag,
                                    const std::vector<std::string>& given) {
  std::vector<std::string> entries;
  for (const std::string& list : given) {
    for (const std::string& entry : CLI::detail::split(list + ",", ',')) {
      if (entry.empty() && !list.empty()) {
        throw CLI::ValidationError(
            flag, fmt::format("'{}' has an empty entry: leave out the comma", printable(list)));
      }
      entries.push_back(entry);
    }
  }
  return entries;
}

void require_one(CLI::App& app, const std::vector<CLI::Option*>& options) {
  std::string names;
  for (CLI::Option* option : options) {
    option->group("One of these is needed");
    names += (names.empty() ? "" : ", ") + option->get_name();
  }
  app.parse_complete_callback([options, names] {
    const auto given = std::count_if(options.begin(), options.end(),
                                     [](const CLI::Option* option) { return option->count() > 0; });
    if (given == 1) return;
    throw CLI::ValidationError(fmt::format("{} of {} is {}", given == 0 ? "one" : "only one", names,
                                           given == 0 ? "needed" : "possible"));
  });
}

void refuse_idle(const CLI::App& app, const char* option, bool used, std::string_view needs) {
  if (used || app.count(option) == 0) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{} would do nothing here: it needs {}", option, needs));
}

void refuse_idle_reading(const CLI::App& app, bool used, std::string_view needs) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() != kReadingGroup) continue;
    refuse_idle(app, option->get_name().c_str(), used, needs);
  }
}

void check_few_items(const CLI::App& app, const char* candidates, const char* negatives,
                     Index count) {
  if (app.count(negatives) == 0) return;
  if (app.count(candidates) > 0) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} and {} exclude each other: both say which items are ranked",
                            candidates, negatives));
  }
  if (count < 1) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} must be 1 or more, not {}", negatives, count));
  }
}

void add_common_options(CLI::App& app, Common& common) {
  add_number(app, "--threads", common.threads, "Threads to use; 0 takes all cores")
      ->capture_default_str();
  app.add_flag("-q,--quiet", common.quiet, "No progress and no messages, only warnings and errors");
}

void add_device_options(CLI::App& app, Common& common) {
  app.add_option("--device", common.device,
                 "auto, cpu, cuda, cuda:N, cuda:N,M (several), cuda:all or reference")
      ->type_name("NAME")
      ->capture_default_str();
  add_common_options(app, common);
}

void add_device_memory_option(CLI::App& app, Common& common) {
  const auto parse = [&common](const std::string& given) {
    const auto bytes = parse_size(given);
    if (!bytes || *bytes < 1) {
      throw CLI::ValidationError("--device-memory",
                                 "'" + given + "' is not a size such as 2GiB, 500MB or 1.5GiB");
    }
    common.device_memory = *bytes;
  };
  app.add_option_function<std::string>(
         "--device-memory", parse,
         "Limit of GPU memory; the rest of the data is streamed [what is free]")
      ->type_name("SIZE");
}

void add_row_options(CLI::App& app, RowOutput& output, Common& common) {
  add_output_option(app, output.path, "Where to write: .csv, .tsv or .jsonl, and .gz or .zst")
      ->capture_default_str();
  app.add_flag("--json", output.json, "Print JSON lines: an object for each row");
  add_device_options(app, common);
}

void check_json(const RowOutput& output) {
  if (!output.json || output.path == "-") return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("--json prints to standard output; the extension says what {} is written "
                          "as: -o FILE.jsonl for JSON lines",
                          output.path));
}

void add_format_options(CLI::App& app, ReadOptions& options) {
  add_choice<Format>(app, "--format", choices_of<Format>(kFormatNames), options.format,
                     "auto finds tables, JSON lines and Matrix Market; adjacency: a line is a user "
                     "and its items; netflix: blocks of ITEM: above user,rating,date; kdd-cup: "
                     "blocks of USER|COUNT above item, score, day and time")
      ->group(kReadingGroup);
  add_list(app, "--columns", options.columns,
           "Which columns are user,item,value,time: names or numbers from 1, - for none")
      ->type_name("LIST")
      ->group(kReadingGroup);
  add_text(app, "--delimiter", options.delimiter,
           "Text between columns (detected: , tab ; | :: or spaces)")
      ->type_name("TEXT")
      ->group(kReadingGroup);
  add_choice<std::string>(app, "--decimal", {{".", "."}, {",", ","}}, options.decimal,
                          "What stands before the fraction of a value")
      ->group(kReadingGroup);
  add_text(app, "--time-format", options.time_format,
           "How times are written, as strptime has it: %m/%d/%Y [numbers and ISO 8601]")
      ->type_name("TEXT")
      ->group(kReadingGroup);
  add_choice<Header>(app, "--header",
                     {{"auto", Header::kAuto}, {"yes", Header::kYes}, {"no", Header::kNo}},
                     options.header, "Whether the first line names the columns")
      ->group(kReadingGroup);
  add_choice<BadRows>(app, "--on-bad-row", {{"fail", BadRows::kFail}, {"skip", BadRows::kSkip}},
                      options.on_bad_row, "What to do with a row that cannot be read")
      ->group(kReadingGroup);
}

CLI::Option* add_moment(CLI::App& app, const char* flag, std::optional<Time>& target,
                        const char* help) {
  const auto parse = [flag, &target](const std::string& given) {
    target = parse_moment(given);
    if (!target) {
      throw CLI::ValidationError(flag, "'" + given +
                                           "' is not a time such as 2026-01-31, "
                                           "2026-01-31T12:00:00Z or seconds since 1970");
    }
  };
  return app.add_option_function<std::string>(flag, parse, help)->type_name("TIME");
}

namespace {

void add_values_option(CLI::App& app, ReadOptions& options) {
  const auto parse = [&options](const std::string& given) {
    try {
      options.word_values = parse_word_values(given);
    } catch (const Error& error) {
      throw CLI::ValidationError(error.message(as_option));
    }
  };
  app.add_option_function<std::string>(
         "--values", parse,
         "What the words of the value column count, as view=1,cart=3,purchase=5 [numbers, true and "
         "false]")
      ->type_name("LIST")
      ->group(kReadingGroup);
}

}  // namespace

void add_reading_options(CLI::App& app, ReadOptions& options) {
  add_format_options(app, options);
  add_values_option(app, options);
  add_moment(app, "--since", options.since, "Only rows from this time on")->group(kReadingGroup);
  add_moment(app, "--until", options.until, "Only rows before this time")->group(kReadingGroup);
  add_choice<Duplicates>(app, "--duplicates", choices_of<Duplicates>(kDuplicateNames),
                         options.duplicates,
                         "Rows with the same user and item; auto sums events and keeps the newest "
                         "rating, or the last where there are no times")
      ->group(kReadingGroup);
  add_number(app, "--min-value", options.min_value, "Drop rows with a value below this")
      ->group(kReadingGroup);
  add_number(app, "--min-user-count", options.min_user_count, "Drop users with fewer items")
      ->group(kReadingGroup);
  add_number(app, "--min-item-count", options.min_item_count, "Drop items with fewer users")
      ->group(kReadingGroup);
}

void add_weighing_options(CLI::App& app, ReadOptions& options) {
  const auto parse = [&options](const std::string& given) {
    options.half_life = parse_duration(given);
    if (!options.half_life) {
      throw CLI::ValidationError("--half-life", "'" + given +
                                                    "' is not a time such as 90d, 12h, 4w or 1y "
                                                    "(s, min, h, d, w, y)");
    }
  };
  app.add_option_function<std::string>("--half-life", parse,
                                       "Implicit feedback: values halve with this age, as 90d")
      ->type_name("AGE")
      ->group(kReadingGroup);
  add_moment(app, "--now", options.now, "The time that ages count to [the newest row]")
      ->group(kReadingGroup);
}

namespace {

[[nodiscard]] CLI::Validator not_empty(const char* what) {
  const auto refuse = [what](const std::string& given) {
    return given.empty() ? fmt::format("the {} is empty", what) : std::string();
  };
  return {refuse, ""};
}

}  // namespace

CLI::Option* add_path(CLI::App& app, const std::string& flag, std::string& path,
                      const std::string& description) {
  return app.add_option(flag, path, description)->check(not_empty("name"));
}

CLI::Option* add_text(CLI::App& app, const std::string& flag, std::string& text,
                      const std::string& description) {
  return app.add_option(flag, text, description)->check(not_empty("text"));
}

CLI::Option* add_inputs(CLI::App& app, const std::string& name, std::vector<std::string>& paths,
                        const std::string& description) {
  return app.add_option(name, paths, description + "; several files or folders are read as one")
      ->check(not_empty("name"))
      ->required();
}

CLI::Option* add_output_option(CLI::App& app, std::string& path, const std::string& description) {
  return add_path(app, "-o,--output", path, description)->type_name("FILE");
}

Device announced_device(const Common& common, Progress& progress, std::span<const Job> jobs) {
  Device device = open_device(common.device, {.device_memory = common.device_memory});
  for (const Job job : jobs) device.require(job);
  progress.say("device: " + device_text(device));
  return device;
}

ReadOptions reading_for(Feedback feedback, ReadOptions options) {
  if (feedback == Feedback::kExplicit) options.values = Values::kRequired;
  return options;
}

void add_measures(CLI::App& app, EvaluateOptions& options, const char* group) {
  const auto length = [](const std::string& text) {
    return number_fault<Index>(text, {.least = 1});
  };
  add_list<Index>(app, "-k", options.k, "List lengths [10]", length)
      ->type_name("LIST")
      ->group(group);
  add_list(app, "--metrics", options.metrics,
           fmt::format("Names without @k (that is -k), from: {} [the ranking metrics for implicit "
                       "models, rmse and mae for explicit ones]",
                       fmt::join(metric_names(), ", ")))
      ->type_name("LIST")
      ->group(group);
  add_number(app, "--min-relevant-value", options.min_relevant_value,
             "Rankings: test values below this do not count as liked")
      ->capture_default_str()
      ->group(group);
}

CLI::Option* add_clip_option(CLI::App& app, std::optional<bool>& clip) {
  return add_choice<bool>(
      app, "--clip", {{"on", true}, {"off", false}}, [&clip](bool value) { clip = value; },
      "Predicted ratings stay within the scale of the training values [as trained, else on]");
}

ReadOptions reading_of_pairs(ReadOptions options) {
  if (options.columns.size() > 2) options.columns.resize(2);
  options.values = Values::kUnused;
  options.duplicates = Duplicates::kAuto;
  options.min_value.reset();
  options.min_user_count = options.min_item_count = 0;
  options.word_values.clear();
  options.since.reset();
  options.until.reset();
  return held_out(std::move(options));
}

ReadOptions held_out(ReadOptions options) {
  options.half_life.reset();
  options.now.reset();
  return options;
}

Interactions read_with_report(const std::string& path, const ReadOptions& options,
                              Progress& progress, const char* stage, ReadSummary* summary) {
  return read_with_report(std::vector{path}, options, progress, stage, summary);
}

Interactions read_with_report(const std::vector<std::string>& paths, const ReadOptions& options,
                              Progress& progress, const char* stage, ReadSummary* summary) {
  progress.stage(stage);
  ReadSummary met;
  Interactions data = read_interactions(paths, options, &met, progress.control());
  progress.finish();
  say_read(base_name(paths), data.users, data.items, counted(data.by_user.nnz(), "interaction"),
           met, progress);
  if (summary != nullptr) *summary = std::move(met);
  return data;
}

Pairs read_pairs_with_report(const std::string& path, const ReadOptions& options,
                             Progress& progress) {
  progress.stage("read");
  ReadSummary met;
  Pairs pairs = read_pairs(path, options, &met, progress.control());
  progress.finish();
  say_read(base_name(path), pairs.users, pairs.items, counted(pairs.user_of.size(), "pair"), met,
           progress);
  return pairs;
}

void say_written(const std::string& path, const std::string& what, Progress& progress) {
  const double seconds = progress.finish().back().seconds;
  if (path != "-") progress.say(fmt::format("{}: {}, {}", path, what, duration(seconds)));
}

void say_device_memory(const Device& device, const Recommender& recommender, Progress& progress) {
  const Offset bytes = recommender.prediction_memory().total;
  if (bytes == 0) return;
  progress.say(fmt::format("memory of {}: {} MiB for predictions", device.name(),
                           with_commas((bytes + (Offset{1} << 20) - 1) >> 20)));
}

std::string base_name(const std::string& path) {
  const std::filesystem::path given(path);
  return (given.has_filename() ? given : given.parent_path()).filename().string();
}

std::string base_name(const std::vector<std::string>& paths) {
  const std::string first = base_name(paths.front());
  return paths.size() == 1 ? first : fmt::format("{} and {} more", first, paths.size() - 1);
}

}  // namespace likewise::cli
