// SPDX-License-Identifier: Apache-2.0
/// Trainings that go by iterations, on the same data: how long an iteration takes, and what it is
/// good for.
///
///     bench_epochs DEVICE[+DEVICE...] DATA METRIC ALGORITHM[:NAME=VALUE]... ...
///
/// ALGORITHM hybrid is als for nine tenths of the training ratings, and then SGD by `update` for
/// the tenth that arrives, one or two epochs (Tan et al. 2018); its parameters are those of als.
///
/// DEVICE auto is the GPU where there is one, and the CPU for the metrics that it cannot do. All
/// trainings are made on one device after the other.
/// METRIC is that of a random tenth, held out from all of them (rmse, ndcg@10), or none: trains on
/// everything then. trainings.h says what DATA may be. Each training is a row of a Markdown table.
/// With BENCH_CURVES=FILE each iteration is a row of that file, too:
/// data,device,training,iteration,seconds,metric; a device may be "cuda:0,1".
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "likewise/likewise.h"
#include "program.h"
#include "training/train.h"
#include "trainings.h"

namespace likewise {
namespace {

[[nodiscard]] double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Trained {
  std::vector<Iteration> iterations;
  double before = 0.0;  ///< seconds until the first iteration, and after the last
};

[[nodiscard]] Trained run(const Interactions& data, const Interactions* test,
                          const std::string& metric, const TrainingParams& params,
                          const Device& device) {
  ResolvedRun options;
  options.validation = test;
  if (test != nullptr) options.validation_metric = metric;
  const double begin = now();
  const Model model = train(data, params, device, options);
  Trained trained{model.iterations, now() - begin};
  for (const Iteration& one : trained.iterations) trained.before -= one.seconds;
  return trained;
}

[[nodiscard]] double rmse(Model model, const Interactions& test) {
  EvaluateOptions options;
  options.metrics = {"rmse"};
  const TestSet tested = make_test_set(model, test);
  const Recommender recommender(std::make_shared<const Model>(std::move(model)),
                                open_device("cpu"));
  return evaluate(recommender, tested, options).metrics.at("rmse");
}

/// Seconds are those of iterations and epochs; what `update` does besides them is in `before`.
[[nodiscard]] Trained run_hybrid(const Interactions& data, const Interactions& test,
                                 const TrainingParams& params, const Device& device) {
  constexpr int kMostEpochs = 2;
  const Split parts = std::move(split(data, {.test = 0.1, .seed = 2}).front());
  ResolvedRun options;
  options.validation = &test;
  options.validation_metric = "rmse";
  const Model model = train(parts.train, params, device, options);
  Trained trained{model.iterations, 0.0};
  double steps = 0.0;
  for (int epochs = 1; epochs <= kMostEpochs; ++epochs) {
    UpdateOptions update;
    update.by = UpdateBy::kSgd;
    update.iterations = epochs;
    double first = 0.0;
    double last = 0.0;
    RunControl control;
    control.on_progress = [&](const ProgressUpdate& one) {
      if (one.stage == "update") (one.done == 0 ? first : last) = now();
    };
    const double begin = now();
    UpdatedModel updated = update_model(model, parts.test, update, device, control);
    trained.before = now() - begin - (last - first);
    trained.iterations.push_back({static_cast<int>(trained.iterations.size()) + 1, 0.0,
                                  last - first - steps, rmse(std::move(updated.model), test)});
    steps = last - first;
  }
  return trained;
}

void print_row(const std::string& name, const Device& device, const std::string& training,
               const Trained& trained, bool measured) {
  std::vector<double> seconds;
  for (const Iteration& one : trained.iterations) seconds.push_back(one.seconds);
  const Iteration& last = trained.iterations.back();
  fmt::print("| {} | {} | {} | {} | {:.3f} | {} | {} | {:.6g} |\n", name, device.name(), training,
             spread(seconds, 2, 1e3), elapsed_seconds(trained.iterations).back(),
             measured ? "" : fmt::format("{:.3f}", trained.before),
             last.validation ? fmt::format("{:.5f}", *last.validation) : "", last.objective);
  std::fflush(stdout);
}

void write_curve(const char* path, const std::string& name, const Device& device,
                 const std::string& training, const Trained& trained) {
  std::ofstream file(path, std::ios::app);
  const std::vector<double> elapsed = elapsed_seconds(trained.iterations);
  for (std::size_t at = 0; at < elapsed.size(); ++at) {
    const Iteration& one = trained.iterations[at];
    file << fmt::format("{},\"{}\",{},{},{:.6f},{:.6f}\n", name, device.name(), training,
                        one.iteration, elapsed[at], one.validation.value_or(0.0));
  }
}

int run_all(const std::vector<std::string>& words) {
  if (words.size() < 4) {
    fmt::print(stderr, "bench_epochs: its file says what it takes\n");
    return 2;
  }
  const std::string& metric = words[2];
  const bool measured = metric != "none";
  const double begin = now();
  Split data{open_data(words[1]), {}};
  if (measured) data = std::move(split(data.train, {.test = 0.1, .seed = 1}).front());
  fmt::print(stderr, "{}: {} users, {} items, {} interactions in {:.1f} s\n", words[1],
             data.train.by_user.rows, data.train.by_user.cols, data.train.by_user.nnz(),
             now() - begin);
  fmt::print(
      "| data | device | training | iteration, ms | all iterations, s | beside them, s | {} | "
      "objective |\n|---|---|---|---|---|---|---|---|\n",
      metric);
  const Feedback feedback =
      metric.starts_with("ndcg") ? Feedback::kImplicit : feedback_of(words[1]);
  const auto print = [&](const std::string& name, const std::string& training) {
    const bool hybrid = training.starts_with("hybrid");
    const TrainingParams params =
        parse_training(hybrid ? "als" + training.substr(6) : training, feedback);
    const Device device = open_device_to_train(name, params).device;
    const double start = now();
    const Trained trained =
        hybrid ? run_hybrid(data.train, data.test, params, device)
               : run(data.train, measured ? &data.test : nullptr, metric, params, device);
    fmt::print(stderr, "{}, {}: {:.1f} s, measuring included\n", name, training, now() - start);
    print_row(words[1], device, training, trained, measured && !hybrid);
    const char* curves = std::getenv("BENCH_CURVES");
    if (curves != nullptr) write_curve(curves, words[1], device, training, trained);
  };
  bool good = true;
  std::istringstream devices(words[0]);
  for (std::string name; std::getline(devices, name, '+');) {
    for (std::size_t at = 3; at < words.size(); ++at) {
      try {
        print(name, words[at]);
      } catch (const Error& error) {
        fmt::print(stderr, "bench_epochs: {}: {}: {}\n", name, words[at], error.what());
        good = false;
      }
    }
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) { return likewise::run_program(argc, argv, likewise::run_all); }
