// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "likewise/model.h"
#include "likewise/version.h"
#include "options/options.h"
#include "options/paths.h"
#include "output/parameters.h"
#include "output/rows.h"
#include "report/data_page.h"
#include "verb.h"

namespace likewise::cli {
namespace {

using Json = nlohmann::ordered_json;

struct RowSizes {
  Offset smallest = 0;
  Offset median = 0;
  Offset largest = 0;
};

RowSizes row_sizes(const CsrView& rows) {
  std::vector<Offset> sizes;
  for (Index r = 0; r < rows.rows; ++r) sizes.push_back(rows.row_size(r));
  if (sizes.empty()) return {};
  std::sort(sizes.begin(), sizes.end());
  return {sizes.front(), sizes[sizes.size() / 2], sizes.back()};
}

Json sizes_json(const RowSizes& sizes) {
  return {{"min", sizes.smallest}, {"median", sizes.median}, {"max", sizes.largest}};
}

/// What both kinds of file have: who, what, how many.
Json matrix_json(const CsrMatrix& by_user) {
  const double cells = static_cast<double>(by_user.rows) * by_user.cols;
  Json out;
  out["users"] = by_user.rows;
  out["items"] = by_user.cols;
  out["interactions"] = by_user.nnz();
  out["density"] = cells > 0 ? static_cast<double>(by_user.nnz()) / cells : 0.0;
  out["per_user"] = sizes_json(row_sizes(by_user.view()));
  out["per_item"] = sizes_json(row_sizes(transpose(by_user.view()).view()));
  if (by_user.nnz() > 0) {
    const auto [low, high] = std::minmax_element(by_user.values.begin(), by_user.values.end());
    out["values"] = {{"min", *low}, {"max", *high}};
  }
  return out;
}

Json data_json(const Interactions& data, const ReadSummary& summary) {
  Json out = {{"kind", "interactions"}, {"format", summary.format}, {"rows", summary.rows}};
  out.update(matrix_json(data.by_user));
  out["times"] = data.has_times();
  out["duplicates"] = summary.duplicates;
  out["bad_rows"] = summary.bad_rows;
  return out;
}

/// How often the model grew, by how much in all, and what came last.
Json updates_json(const Provenance& provenance) {
  Offset interactions = 0;
  for (const ModelUpdate& update : provenance.updates) interactions += update.interactions;
  const ModelUpdate& last = provenance.updates.back();
  return {{"count", provenance.updates.size()},
          {"interactions", interactions},
          {"created", last.created},
          {"source", last.source}};
}

/// How the parameters were found.
Json search_json(const ModelSearch& search) {
  return {{"metric", search.metric},     {"value", search.value},
          {"baseline", search.baseline}, {"baseline_value", search.baseline_value},
          {"trials", search.trials},     {"budget", search.budget},
          {"seconds", search.seconds},   {"validation", search.validation},
          {"seed", search.seed}};
}

Index rows_with_tags(const Features& features) {
  Index rows = 0;
  for (Index row = 0; row < features.weights.rows; ++row) {
    rows += features.weights.view().row_size(row) > 0 ? 1 : 0;
  }
  return rows;
}

Json model_json(const Model& model) {
  Json out = {{"kind", "model"}, {"algorithm", model.algorithm()}};
  out.update(effective_json(model.params));
  out.update(matrix_json(model.history));
  if (const Knn* hood = model.knn()) {
    out["neighbours_kept"] = hood->neighbours.rows.size();
  }
  out["titles"] = model.titles.count();
  for (const Side side : {Side::kUsers, Side::kItems}) {
    const Features& features = model.features(side);
    if (features.empty()) continue;
    const std::string name(side_name(side));
    out[name + "_with_features"] = rows_with_tags(features);
    out[name + "_without_interactions"] = rows_by_features(model, side).size();
    out["tags_of_" + name] = features.tags.size();
  }
  if (!model.iterations.empty()) {
    out["iterations"] = model.iterations.size();
    out["best_iteration"] = model.best_iteration;
    out["objective"] = model.iterations.back().objective;
    if (!model.stop_reason.empty()) out["stop_reason"] = model.stop_reason;
  }
  if (const auto validation = model.best_validation(); !model.validation_metric.empty()) {
    out["validation_metric"] = model.validation_metric;
    if (!model.validation_among.empty()) out["validation_among"] = model.validation_among;
    if (validation) out["validation"] = *validation;
  }
  out["created"] = model.provenance.created;
  out["likewise_version"] = model.provenance.likewise_version;
  out["source"] = model.provenance.source;
  out["device"] = model.provenance.device;
  if (!model.provenance.choice.empty()) out["choice"] = model.provenance.choice;
  if (!model.provenance.origins.empty()) out["origins"] = origins_json(model.provenance.origins);
  if (const auto& search = model.provenance.search) out["search"] = search_json(*search);
  if (!model.provenance.updates.empty()) out["updates"] = updates_json(model.provenance);
  return out;
}

Json machine_json() {
  Json out = {
      {"version", kVersion}, {"instruction_set", instruction_set()}, {"threads", thread_count()}};
  out["backends"] = Json::array();
  for (const DeviceStatus& device : device_statuses()) {
    Json line = {{"name", device.name},
                 {"available", device.available},
                 {"description", device.description}};
    if (!device.tuning.empty()) line["tuning"] = device.tuning;
    if (!device.peers.empty()) line["peers"] = device.peers;
    for (std::size_t j = 0; j < device.jobs.size(); ++j) {
      const JobStatus& job = device.jobs[j];
      if (job.available) {
        line["jobs"].push_back(kJobNames[j]);
      } else {
        line["lacks"][std::string(kJobNames[j])] = job.reason;
      }
    }
    out["backends"].push_back(std::move(line));
  }
  return out;
}

std::string value_text(const Json& value) {
  if (value.is_string()) return printable(value.get<std::string>(), std::string::npos);
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_integer()) return with_commas(value.get<Offset>());
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  std::string text;
  for (const auto& [name, part] : value.items()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value_text(part));
  }
  return text;
}

/// The same facts, one per line.
std::string as_text(const Json& facts) {
  const Style style(stdout);
  std::string text;
  for (const auto& [name, value] : facts.items()) {
    if (name == "backends") continue;
    std::string label = name;
    std::replace(label.begin(), label.end(), '_', ' ');
    text += fmt::format("{}{}\n", style.dim(fit(label, 25)), value_text(value));
  }
  if (!facts.contains("backends")) return text;
  text += "backends\n";
  for (const Json& device : facts["backends"]) {
    const bool works = device["available"].get<bool>();
    text += fmt::format("  {} {} {}\n", works ? style.good("yes") : style.dim("no "),
                        fit(device["name"].get<std::string>(), 18),
                        device["description"].get<std::string>());
    const auto add = [&](const std::string& label, const Json& value) {
      text += fmt::format("      {}{}\n", style.dim(fit(label, 18)), value.get<std::string>());
    };
    if (device.contains("tuning")) add("ALS tuning", device["tuning"]);
    if (device.contains("peers")) {
      add("reaches directly",
          fmt::format("{}", fmt::join(device["peers"].get<std::vector<std::string>>(), ", ")));
    }
    if (!device.contains("lacks")) continue;
    for (const auto& [job, reason] : device["lacks"].items()) add("no " + job, reason);
  }
  return text;
}

struct Info {
  const CLI::App* given = nullptr;
  std::string path;
  std::string page;
  bool json = false;
  ReadOptions reading;
  Common common;

  void run() const {
    check_paths({{"FILE", path}, {"--report", page, PathUse::kOutput}});
    if (path.empty() && !page.empty()) {
      throw Error(ErrorKind::kInvalidArgument,
                  "--report: it is the page of a file of interactions or a model; name one");
    }
    if (page == "-") {
      throw Error(ErrorKind::kInvalidArgument,
                  "--report: standard output has the facts; name a file for the page");
    }
    const Json facts = describe();
    print_result(json ? facts.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                      : as_text(facts));
  }

  [[nodiscard]] Json describe() const {
    const bool is_data = !path.empty() && !looks_like_model(path);
    refuse_idle_reading(*given, is_data, "a file of interactions");
    if (path.empty()) return machine_json();
    Progress progress(common.quiet);
    if (!is_data) {
      const Model model = load_model(path);
      write(model.history.view(), progress);
      return model_json(model);
    }
    ReadSummary summary;
    const Interactions data = read_interactions(path, reading, &summary, progress.control());
    write(data.by_user.view(), progress);
    return data_json(data, summary);
  }

  /// The page, where one is wanted.
  void write(const CsrView& by_user, Progress& progress) const {
    if (page.empty()) return;
    write_data_page(base_name(path), by_user, page);
    progress.say("report: " + page);
  }
};

}  // namespace

Run add_info(CLI::App& app) {
  auto verb = std::make_shared<Info>();
  add_path(app, "FILE", verb->path, "A model or an interactions file, told apart by content");
  app.add_flag("--json", verb->json, "Print one object");
  add_path(app, "--report", verb->page,
           "A page with histograms and the pattern of sparsity of the interactions")
      ->type_name("FILE.html");
  add_common_options(app, verb->common);
  add_reading_options(app, verb->reading);
  add_weighing_options(app, verb->reading);
  app.footer(
      "Without a file: version, instruction set, threads, and which devices can be used or why "
      "not.\n\n"
      "Examples:\n"
      "  likewise info\n"
      "  likewise info model.safetensors\n"
      "  likewise info ratings.csv.gz --json\n"
      "  likewise info ratings.csv.gz --report ratings.html");
  verb->reading.keep_times = true;
  verb->given = &app;
  return on_threads(verb);
}

}  // namespace likewise::cli
