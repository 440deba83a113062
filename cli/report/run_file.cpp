// SPDX-License-Identifier: Apache-2.0
#include "report/run_file.h"

#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "likewise/error.h"
#include "likewise/evaluation.h"
#include "likewise/model.h"
#include "likewise/read.h"
#include "options/paths.h"

namespace likewise::cli {
namespace {

using RunJson = nlohmann::json;

/// A million iterations are a fifth of this.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw Error(ErrorKind::kBadData, fmt::format("{}: {}", file, why));
}

/// A value of the file, and where it stands: "iterations[2].seconds".
class Field {
 public:
  Field(const std::string& file, std::string place, const RunJson& value)
      : file_(file), place_(std::move(place)), value_(value) {}

  [[nodiscard]] bool has(const char* name) const {
    return value_.is_object() && value_.contains(name);
  }
  [[nodiscard]] Field at(const char* name) const {
    if (!value_.is_object()) fail("is not an object");
    const std::string place = place_.empty() ? name : fmt::format("{}.{}", place_, name);
    if (!value_.contains(name)) {
      refuse(file_, fmt::format("{} is missing: `likewise train --json` prints it", place));
    }
    return {file_, place, value_[name]};
  }
  [[nodiscard]] std::vector<Field> list() const {
    if (!value_.is_array()) fail("is not a list");
    std::vector<Field> fields;
    for (std::size_t i = 0; i < value_.size(); ++i) {
      fields.emplace_back(file_, fmt::format("{}[{}]", place_, i), value_[i]);
    }
    return fields;
  }
  [[nodiscard]] std::string text() const {
    if (!value_.is_string()) fail("is not a text");
    return value_.get<std::string>();
  }
  /// NaN for null, which is how a number that is not finite is written.
  [[nodiscard]] double number() const {
    if (value_.is_null()) return std::numeric_limits<double>::quiet_NaN();
    if (!value_.is_number()) fail("is not a number");
    return value_.get<double>();
  }
  template <class Count>
  [[nodiscard]] Count count() const {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<Count>::max());
    if (!value_.is_number_unsigned() || value_.get<std::uint64_t>() > kMost) {
      fail("is not a whole number in range");
    }
    return value_.get<Count>();
  }

 private:
  [[noreturn]] void fail(const char* why) const {
    refuse(file_, fmt::format("{} {}", place_.empty() ? "the content" : place_, why));
  }

  const std::string& file_;
  std::string place_;
  const RunJson& value_;
};

[[nodiscard]] std::string text_of(const std::string& path) {
  std::string text;
  for_each_line(path, [&](std::string_view line, Offset) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (text.empty() && begin == std::string_view::npos) return;
    if (text.empty() && line[begin] != '{') {
      refuse(path, "neither what `likewise train --json` prints nor a model");
    }
    if (text.size() + line.size() > kMostBytes) refuse(path, "larger than 1 GiB: no run is");
    text.append(line).push_back('\n');
  });
  if (text.empty()) refuse(path, "is empty");
  return text;
}

[[nodiscard]] RunJson parsed(const std::string& path) {
  const std::string text = text_of(path);
  try {
    return RunJson::parse(text);
  } catch (const RunJson::parse_error& error) {
    refuse(path, fmt::format("is not valid JSON near byte {}", error.byte));
  } catch (const RunJson::exception&) {
    refuse(path, "holds a number that is out of range");
  }
}

[[nodiscard]] Iteration iteration_of(const Field& field) {
  Iteration one;
  one.iteration = field.at("iteration").count<int>();
  one.objective = field.at("objective").number();
  one.seconds = field.at("seconds").number();
  if (field.has("validation")) one.validation = field.at("validation").number();
  return one;
}

[[nodiscard]] TrainedRun run_of_json(const std::string& path) {
  const RunJson json = parsed(path);
  const Field root(path, "", json);
  TrainedRun run;
  run.algorithm = root.at("algorithm").text();
  run.feedback = root.at("feedback").text();
  run.device = root.at("device").text();
  run.users = root.at("users").count<Offset>();
  run.items = root.at("items").count<Offset>();
  run.interactions = root.at("interactions").count<Offset>();
  for (const Field& field : root.at("iterations").list()) {
    run.iterations.push_back(iteration_of(field));
  }
  if (root.has("validation_metric")) run.metric = root.at("validation_metric").text();
  if (root.has("validation_among")) run.among = root.at("validation_among").text();
  return run;
}

[[nodiscard]] TrainedRun run_of_model(const std::string& path) {
  Model model = load_model(path);
  TrainedRun run;
  run.algorithm = model.algorithm();
  run.feedback = kFeedbackNames[static_cast<std::size_t>(model.feedback())];
  run.device = model.provenance.device;
  run.users = model.users.size();
  run.items = model.items.size();
  run.interactions = model.history.nnz();
  run.iterations = std::move(model.iterations);
  run.metric = model.validation_metric;
  run.among = model.validation_among;
  return run;
}

void check_iteration(const TrainedRun& run, std::size_t place) {
  const Iteration& one = run.iterations[place];
  const auto fail = [&](const char* field, const std::string& why) {
    refuse(run.file, fmt::format("iterations[{}].{} {}", place, field, why));
  };
  if (one.iteration != static_cast<int>(place + 1)) {
    fail("iteration", fmt::format("is {}, not {}: without those before nobody knows the seconds",
                                  one.iteration, place + 1));
  }
  if (!std::isfinite(one.objective)) fail("objective", "is not a finite number");
  if (!std::isfinite(one.seconds) || one.seconds < 0.0) {
    fail("seconds", "is not a finite number from 0 on");
  }
  if (!one.validation) fail("validation", "is missing: validate a run from its first iteration on");
  if (!std::isfinite(*one.validation)) fail("validation", "is not a finite number");
}

/// What holds for both kinds of file.
void check_run(TrainedRun& run) {
  if (run.iterations.empty()) {
    refuse(run.file, fmt::format("iterations is empty: {} has no course to compare; train an "
                                 "algorithm that iterates, as als",
                                 run.algorithm));
  }
  if (run.metric.empty()) {
    refuse(run.file, "validation_metric is missing: train with --validation to have one");
  }
  try {
    run.metric = parse_metric(run.metric).key;
  } catch (const Error& error) {
    refuse(run.file, fmt::format("validation_metric: {}", error.what()));
  }
  for (std::size_t i = 0; i < run.iterations.size(); ++i) check_iteration(run, i);
  if (!std::isfinite(elapsed_seconds(run.iterations).back())) {
    refuse(run.file, "iterations: their seconds add up to more than a number holds");
  }
}

}  // namespace

TrainedRun read_run(const std::string& path) {
  TrainedRun run = looks_like_model(path) ? run_of_model(path) : run_of_json(path);
  run.file = path;
  check_run(run);
  return run;
}

}  // namespace likewise::cli
