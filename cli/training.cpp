// SPDX-License-Identifier: Apache-2.0
#include "training.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "likewise/autotune.h"
#include "likewise/device.h"
#include "likewise/popularity.h"
#include "nearest.h"

namespace likewise::cli {
namespace {

/// Measures factors on held-out data. The scratch model shares nothing with the one in training but
/// ids and history, which are copied once.
Validation make_validation(const Model& model, const std::shared_ptr<const Backend>& backend,
                           const ValidationData& data) {
  auto scratch = std::make_shared<Model>();
  scratch->algorithm = model.algorithm;
  scratch->users = model.users.clone();
  scratch->items = model.items.clone();
  scratch->history = model.history.clone();
  scratch->als = model.als;
  auto test = std::make_shared<TestSet>(make_test_set(model, data.interactions));
  EvaluateOptions options;
  options.k = {data.metric.k};
  options.metrics = {data.metric.name};
  const auto measure = [=, text = data.metric.text](const Factors& factors) {
    scratch->factors = factors.clone();
    const Recommender recommender(scratch, backend);
    return evaluate(recommender, *test, options, {}, Progress::stop_control()).metrics.at(text);
  };
  return {data.metric.text, higher_is_better(data.metric.name), measure};
}

/// Trains; an interrupt says how to go on when there is a checkpoint.
AlsResult run_als(const Model& model, const Backend& backend, const AlsRun& run,
                  const std::string& checkpoint) {
  try {
    return train_als(model.history.view(), model.als, backend, run);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCancelled || !std::filesystem::exists(checkpoint)) throw;
    throw Error(
        ErrorKind::kCancelled,
        fmt::format("interrupted; `--resume {}` goes on from the last checkpoint", checkpoint));
  }
}

}  // namespace

NamedMetric parse_metric(const std::string& text) {
  NamedMetric metric{text, text.substr(0, text.find('@'))};
  const std::vector<std::string> names = metric_names();
  if (std::ranges::find(names, metric.name) == names.end()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("there is no metric '{}'{}; there are {}", metric.name,
                            suggestion(metric.name, names), fmt::join(names, ", ")));
  }
  if (const std::size_t at = text.find('@'); at != std::string::npos) {
    const auto k = canonical_integer(std::string_view(text).substr(at + 1));
    if (!k || *k < 1 || *k > 1'000'000) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("{}: after @ comes a list length of 1 or more, as in ndcg@10", text));
    }
    metric.k = static_cast<Index>(*k);
  }
  return metric;
}

std::shared_ptr<const Backend> open_device_to_train(const Common& common, const AlsParams& params,
                                                    Progress& progress) {
  DeviceChoice choice =
      open_backend_to_train(common.device, params, {.device_memory = common.device_memory});
  progress.say(fmt::format("device: {}{}{}", device_text(*choice.backend),
                           choice.reason.empty() ? "" : "; ", choice.reason));
  return std::move(choice.backend);
}

std::shared_ptr<Model> start_model(Interactions data, const std::string& algorithm,
                                   const AlsParams& params, const std::string& source,
                                   const Backend& backend) {
  auto model = std::make_shared<Model>();
  model->algorithm = algorithm;
  model->users = std::move(data.users);
  model->items = std::move(data.items);
  model->history = std::move(data.by_user);
  model->als = params;
  model->provenance.source = source;
  model->provenance.created = utc_now();
  model->provenance.device = device_text(backend);
  return model;
}

std::string train_als_model(const std::shared_ptr<Model>& model,
                            const std::shared_ptr<const Backend>& backend,
                            const std::optional<ValidationData>& validation, const Model* resume,
                            const Checkpointing& checkpointing, Progress& progress) {
  const AlsTuner* tuner = backend->als_tuner();
  if (tuner != nullptr && !tuner->warning().empty()) progress.say(tuner->warning());
  AlsRun run;
  run.control = Progress::stop_control();
  if (validation) run.validation = make_validation(*model, backend, *validation);
  if (resume != nullptr) resume_from(*resume, run);
  const Offset rows = Offset{model->users.size()} + model->items.size();
  run.on_plan = [&](const MemoryPlan& plan) {
    if (plan.parts.empty()) return;
    progress.detail(fmt::format("memory of {}: {}\n{}", backend->name(), plan.way, describe(plan)));
  };
  std::vector<AlsIteration> reports = run.history;
  run.on_iteration = [&](const AlsIteration& done, const FetchFactors& factors) {
    progress.show(done, model->als.iterations, rows, run.validation.metric);
    reports.push_back(done);
    if (!checkpointing.path.empty() && done.iteration % checkpointing.every == 0) {
      save_checkpoint(*model, factors(), reports, checkpointing.path);
    }
  };
  AlsResult result = run_als(*model, *backend, run, checkpointing.path);
  model->factors = std::move(result.factors);
  model->iterations = std::move(result.iterations);
  model->best_iteration = result.best_iteration;
  return result.stop_reason;
}

void train_neighbour_model(Model& model, const Backend& backend, Progress& progress) {
  NeighbourResult result =
      train_neighbours(model.history.view(), model.knn, backend, progress.control());
  model.factors = std::move(result.baselines);
  model.neighbours = std::move(result.neighbours);
}

void train_popular_model(Model& model) {
  model.factors = train_popularity(model.history.view(), model.als.feedback);
}

}  // namespace likewise::cli
