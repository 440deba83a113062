// SPDX-License-Identifier: Apache-2.0
#include "model/model_metadata.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "algorithms/parameters/json.h"
#include "core/text/strict_json.h"
#include "likewise/error.h"
#include "likewise/version.h"
#include "model/bad_data.h"

namespace likewise {
namespace {

using nlohmann::json;
using safetensors::Metadata;

/// The whole of `text` as a number.
template <class Number>
Number parse_number(const Metadata& metadata, const std::string& name) {
  const std::string& text = require(metadata, name);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
    bad_data(fmt::format("metadata '{}' is not a number in range: '{}'", name, text.substr(0, 40)));
  }
  return value;
}

std::string optional_text(const Metadata& metadata, const std::string& name) {
  const auto at = metadata.find(name);
  return at == metadata.end() ? std::string() : at->second;
}

/// JSON has no NaN: a measurement that is not finite is written as null and read back as NaN.
json measured(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

double measured(const json& value, const char* what) {
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) bad_data(fmt::format("metadata {} is not a number", what));
  return value.get<double>();
}

/// The header has to stay small: of a longer training the file keeps the last iterations.
constexpr std::size_t kMaxReports = 65536;
/// The same of updates: one a day for 22 years.
constexpr std::size_t kMaxUpdates = 8192;
constexpr Offset kMostUpdateIterations = 10'000;

json encode_iteration(const Iteration& report) {
  json object{{"iteration", report.iteration},
              {"objective", measured(report.objective)},
              {"seconds", measured(report.seconds)}};
  if (report.validation) object["validation"] = measured(*report.validation);
  return object;
}

Iteration decode_iteration(const json& object) {
  if (!object.is_object()) bad_data("metadata 'iterations' is not a list of objects");
  Iteration report;
  for (const char* field : {"iteration", "objective", "seconds"}) {
    if (!object.contains(field))
      bad_data(fmt::format("metadata 'iterations': {} is missing", field));
  }
  const json& number = object["iteration"];
  if (!number.is_number_unsigned() ||
      number.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<int>::max()}) {
    bad_data("metadata 'iterations': iteration is not a natural number in range");
  }
  report.iteration = number.get<int>();
  report.objective = measured(object["objective"], "'iterations': objective");
  report.seconds = measured(object["seconds"], "'iterations': seconds");
  if (object.contains("validation"))
    report.validation = measured(object["validation"], "'iterations': validation");
  return report;
}

std::vector<Iteration> decode_iterations(const std::string& text) {
  const json list = parse_strict_json(text, "metadata 'iterations'");
  if (!list.is_array()) bad_data("metadata 'iterations' is not a list");
  std::vector<Iteration> reports;
  for (const json& object : list) reports.push_back(decode_iteration(object));
  return reports;
}

json encode_update(const ModelUpdate& update) {
  json object{{"created", update.created},      {"source", update.source},
              {"device", update.device},        {"interactions", update.interactions},
              {"users", update.users},          {"items", update.items},
              {"iterations", update.iterations}};
  if (!update.by.empty()) object["by"] = update.by;
  return object;
}

/// A count from 0 to `most`.
Offset update_count(const json& object, const char* field, Offset most) {
  if (!object.contains(field) || !object[field].is_number_unsigned() ||
      object[field].get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
    bad_data(fmt::format("metadata 'updates': {} is not a natural number in range", field));
  }
  return object[field].get<Offset>();
}

std::string update_text(const json& object, const char* field) {
  if (!object.contains(field)) return {};
  if (!object[field].is_string())
    bad_data(fmt::format("metadata 'updates': {} is not text", field));
  return object[field].get<std::string>();
}

std::vector<ModelUpdate> decode_updates(const std::string& text) {
  if (text.empty()) return {};
  const json list = parse_strict_json(text, "metadata 'updates'");
  if (!list.is_array()) bad_data("metadata 'updates' is not a list");
  std::vector<ModelUpdate> updates;
  for (const json& object : list) {
    if (!object.is_object()) bad_data("metadata 'updates' is not a list of objects");
    constexpr Offset kMostRows = std::numeric_limits<Index>::max();
    ModelUpdate update;
    update.created = update_text(object, "created");
    update.source = update_text(object, "source");
    update.device = update_text(object, "device");
    update.interactions = update_count(object, "interactions", std::numeric_limits<Offset>::max());
    update.users = static_cast<Index>(update_count(object, "users", kMostRows));
    update.items = static_cast<Index>(update_count(object, "items", kMostRows));
    update.iterations = static_cast<int>(update_count(object, "iterations", kMostUpdateIterations));
    update.by = update_text(object, "by");
    updates.push_back(std::move(update));
  }
  return updates;
}

json encode_origins(const std::vector<ParameterOrigin>& origins) {
  json object = json::object();
  for (const ParameterOrigin& one : origins) {
    object[one.name] = kOriginNames[static_cast<std::size_t>(one.origin)];
  }
  return object;
}

/// In the order of their names.
std::vector<ParameterOrigin> decode_origins(const std::string& text) {
  if (text.empty()) return {};
  const json object = parse_strict_json(text, "metadata 'origins'");
  if (!object.is_object()) bad_data("metadata 'origins' is not an object");
  std::vector<ParameterOrigin> origins;
  for (const auto& [name, value] : object.items()) {
    const auto* const found =
        std::ranges::find(kOriginNames, value.is_string() ? value.get<std::string>() : "");
    if (found == std::end(kOriginNames)) {
      bad_data(fmt::format("metadata 'origins': {} is none of {}", printable(name),
                           fmt::join(kOriginNames, ", ")));
    }
    origins.push_back({std::string(name), static_cast<Origin>(found - std::begin(kOriginNames))});
  }
  return origins;
}

json encode_search(const ModelSearch& search) {
  return {{"metric", search.metric},     {"value", measured(search.value)},
          {"baseline", search.baseline}, {"baseline_value", measured(search.baseline_value)},
          {"trials", search.trials},     {"seconds", measured(search.seconds)},
          {"budget", search.budget},     {"validation", search.validation},
          {"seed", search.seed}};
}

const json& search_field(const json& object, const char* field, bool (json::*is)() const noexcept) {
  if (object.contains(field) && (object[field].*is)()) return object[field];
  bad_data(fmt::format("metadata 'search': {} is missing or of another type", field));
}

std::optional<ModelSearch> decode_search(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const json object = parse_strict_json(text, "metadata 'search'");
  if (!object.is_object()) bad_data("metadata 'search' is not an object");
  const auto words = [&](const char* field) {
    return search_field(object, field, &json::is_string).get<std::string>();
  };
  const auto number = [&](const char* field) {
    if (!object.contains(field)) bad_data(fmt::format("metadata 'search': {} is missing", field));
    return measured(object[field], "'search'");
  };
  const auto natural = [&](const char* field) {
    return search_field(object, field, &json::is_number_unsigned).get<std::uint64_t>();
  };
  ModelSearch search;
  search.metric = words("metric");
  search.value = number("value");
  search.baseline = words("baseline");
  search.baseline_value = number("baseline_value");
  if (natural("trials") > std::uint64_t{std::numeric_limits<int>::max()}) {
    bad_data("metadata 'search': trials is not a natural number in range");
  }
  search.trials = static_cast<int>(natural("trials"));
  search.seconds = number("seconds");
  search.budget = words("budget");
  search.validation = words("validation");
  search.seed = natural("seed");
  return search;
}

}  // namespace

const std::string& require(const Metadata& metadata, const std::string& name) {
  const auto at = metadata.find(name);
  if (at == metadata.end()) bad_data(fmt::format("metadata '{}' is missing", name));
  return at->second;
}

Metadata encode_metadata(const Model& model, const Trained& trained) {
  json reports = json::array();
  const std::size_t kept = std::min(trained.iterations.size(), kMaxReports);
  for (const Iteration& report : trained.iterations.last(kept)) {
    reports.push_back(encode_iteration(report));
  }
  Metadata metadata{{"format", kModelFormat},
                    {"format_version", std::to_string(kModelFormatVersion)},
                    {"algorithm", std::string(model.algorithm())},
                    {"parameters", encode_params(model.params).dump()},
                    {"iterations", reports.dump()},
                    {"best_iteration", std::to_string(trained.best_iteration)},
                    {"global_mean", fmt::format("{}", linear_part(trained.learned).mean)},
                    {"likewise_version", kVersion},
                    {"created", model.provenance.created},
                    {"source", model.provenance.source},
                    {"device", model.provenance.device}};
  if (!model.validation_metric.empty()) metadata["validation_metric"] = model.validation_metric;
  if (!model.validation_among.empty()) metadata["validation_among"] = model.validation_among;
  if (model.validation) metadata["validation"] = measured(*model.validation).dump();
  if (!model.stop_reason.empty()) metadata["stop_reason"] = model.stop_reason;
  if (const auto& updates = model.provenance.updates; !updates.empty()) {
    json list = json::array();
    const std::size_t first = updates.size() - std::min(updates.size(), kMaxUpdates);
    for (std::size_t i = first; i < updates.size(); ++i) list.push_back(encode_update(updates[i]));
    metadata["updates"] = list.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  if (const auto& search = model.provenance.search) {
    metadata["search"] =
        encode_search(*search).dump(-1, ' ', false, json::error_handler_t::replace);
  }
  if (!model.provenance.choice.empty()) metadata["choice"] = model.provenance.choice;
  if (const auto& origins = model.provenance.origins; !origins.empty()) {
    metadata["origins"] = encode_origins(origins).dump();
  }
  if (model.trained_spread > 0.0) {
    metadata["trained_spread"] = fmt::format("{}", model.trained_spread);
  }
  if (trained.last != nullptr) {
    metadata["last.global_mean"] = fmt::format("{}", trained.last->global_mean);
  }
  return metadata;
}

void check_format(const Metadata& metadata) {
  const auto format = metadata.find("format");
  if (format == metadata.end() || format->second != kModelFormat) {
    bad_data(
        "a safetensors file, but not a likewise model: the metadata has no \"format\": "
        "\"likewise-model\"");
  }
  const int version = parse_number<int>(metadata, "format_version");
  if (version > kModelFormatVersion) {
    bad_data(
        fmt::format("written in model format {}, this likewise {} reads up to {}: update likewise",
                    version, kVersion, kModelFormatVersion));
  }
  if (version < 1) bad_data(fmt::format("metadata 'format_version' is {}", version));
}

void decode_metadata(const Metadata& metadata, Model& model, Factors& linear) {
  model.params =
      decode_params(require(metadata, "algorithm"),
                    parse_strict_json(require(metadata, "parameters"), "metadata 'parameters'"));
  model.iterations = decode_iterations(require(metadata, "iterations"));
  model.best_iteration = parse_number<int>(metadata, "best_iteration");
  model.validation_metric = optional_text(metadata, "validation_metric");
  model.validation_among = optional_text(metadata, "validation_among");
  if (const std::string text = optional_text(metadata, "validation"); !text.empty()) {
    model.validation = measured(parse_strict_json(text, "metadata 'validation'"), "'validation'");
  }
  model.stop_reason = optional_text(metadata, "stop_reason");
  linear.global_mean = parse_number<float>(metadata, "global_mean");
  if (metadata.contains("trained_spread")) {
    model.trained_spread = parse_number<double>(metadata, "trained_spread");
    if (!(model.trained_spread > 0.0) || !std::isfinite(model.trained_spread)) {
      bad_data(
          fmt::format("metadata 'trained_spread' is {}: it must be above 0", model.trained_spread));
    }
  }
  if (metadata.contains("last.global_mean")) {
    model.last.emplace().global_mean = parse_number<float>(metadata, "last.global_mean");
  }
  model.provenance = {require(metadata, "likewise_version"),
                      optional_text(metadata, "created"),
                      optional_text(metadata, "source"),
                      optional_text(metadata, "device"),
                      decode_updates(optional_text(metadata, "updates")),
                      decode_search(optional_text(metadata, "search")),
                      optional_text(metadata, "choice"),
                      decode_origins(optional_text(metadata, "origins"))};
}

std::pair<double, float> parse_features(const std::string& name, const std::string& text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string::npos) bad_data(fmt::format("metadata '{}' is not two numbers", name));
  const Metadata halves{{name, text.substr(0, blank)}, {name + " (mean)", text.substr(blank + 1)}};
  const auto regularization = parse_number<double>(halves, name);
  if (!(regularization > 0.0) || !std::isfinite(regularization)) {
    bad_data(fmt::format("metadata '{}': the regularization is {}: it must be above 0", name,
                         regularization));
  }
  return {regularization, parse_number<float>(halves, name + " (mean)")};
}

}  // namespace likewise
