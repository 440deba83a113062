// SPDX-License-Identifier: Apache-2.0
/// Trainings that go by iterations, on the same data: how long an iteration takes, and what it is
/// good for.
///
///     bench_epochs DEVICE DATA METRIC ALGORITHM[:NAME=VALUE]... ...
///
/// ALGORITHM hybrid is als for nine tenths of the training ratings, and then SGD by `update` for
/// the tenth that arrives, one or two epochs (Tan et al. 2018); its parameters are those of als.
///
/// DEVICE auto is the GPU where there is one, and the CPU for the metrics that it cannot do.
/// METRIC is that of a random tenth, held out from all of them (rmse, ndcg@10), or none: trains on
/// everything then. DATA is a file of interactions, a shape of `likewise generate` such as
/// netflix:explicit, or uniform:10000x0.01: a square of so many rows, of which so large a part is
/// filled, at random (Kato and Hosino 2009). Each training is a row of a Markdown table. With
/// BENCH_CURVES=FILE each iteration is a row of that file, too:
/// data,device,training,iteration,seconds,metric.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/random.h"
#include "likewise/likewise.h"
#include "training/train.h"

namespace likewise {
namespace {

/// Every row has equally many, anywhere.
[[nodiscard]] Interactions uniform_square(const std::string& shape) {
  const auto cross = shape.find('x');
  const Index rows = std::stoi(shape.substr(0, cross));
  const auto of_a_row = static_cast<Index>(std::stod(shape.substr(cross + 1)) * rows);
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<float> values;
  std::vector<Index> all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  CounterRandom random(1, kStreamSynthetic, 0);
  for (Index row = 0; row < rows; ++row) {
    for (Index at = 0; at < of_a_row; ++at) {
      const auto other =
          at + static_cast<Index>(random.below(static_cast<std::uint64_t>(rows - at)));
      std::swap(all[static_cast<std::size_t>(at)], all[static_cast<std::size_t>(other)]);
      columns.push_back(all[static_cast<std::size_t>(at)]);
      values.push_back(1.0F + static_cast<float>(random.below(5)));
    }
    offsets.push_back(std::ssize(columns));
  }
  return make_interactions(CsrColumns{std::span<const std::int64_t>(offsets),
                                      std::span<const std::int32_t>(columns), rows},
                           std::span<const float>(values));
}

[[nodiscard]] Interactions open_data(const std::string& text) {
  if (text.starts_with("uniform:")) return uniform_square(text.substr(8));
  if (std::filesystem::exists(text)) return read_interactions(text);
  return generate(parse_shape(text), 1);
}

/// "sgd:factors=128:order=racing"
[[nodiscard]] TrainingParams parse_training(const std::string& text, Feedback feedback) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  TrainingParams params = default_params(words.front(), feedback);
  for (std::size_t at = 1; at < words.size(); ++at) {
    const std::size_t equals = words[at].find('=');
    if (equals == std::string::npos) {
      throw Error(ErrorKind::kInvalidArgument, fmt::format("'{}' is not NAME=VALUE", words[at]));
    }
    set_parameter(params, words[at].substr(0, equals), words[at].substr(equals + 1));
  }
  validate(params);
  return params;
}

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
  std::ranges::sort(seconds);
  const Iteration& last = trained.iterations.back();
  fmt::print("| {} | {} | {} | {:.2f} ({:.2f} - {:.2f}) | {:.3f} | {} | {} | {:.6g} |\n", name,
             device.name(), training, 1e3 * seconds[seconds.size() / 2], 1e3 * seconds.front(),
             1e3 * seconds.back(), elapsed_seconds(trained.iterations).back(),
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
    file << fmt::format("{},{},{},{},{:.6f},{:.6f}\n", name, device.name(), training, one.iteration,
                        elapsed[at], one.validation.value_or(0.0));
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
  const Feedback feedback = words[1].ends_with(":implicit") || metric.starts_with("ndcg")
                                ? Feedback::kImplicit
                                : Feedback::kExplicit;
  bool good = true;
  for (std::size_t at = 3; at < words.size(); ++at) {
    try {
      const bool hybrid = words[at].starts_with("hybrid");
      const TrainingParams params =
          parse_training(hybrid ? "als" + words[at].substr(6) : words[at], feedback);
      const Device device = open_device_to_train(words[0], params).device;
      const Trained trained =
          hybrid ? run_hybrid(data.train, data.test, params, device)
                 : run(data.train, measured ? &data.test : nullptr, metric, params, device);
      print_row(words[1], device, words[at], trained, measured && !hybrid);
      const char* curves = std::getenv("BENCH_CURVES");
      if (curves != nullptr) write_curve(curves, words[1], device, words[at], trained);
    } catch (const Error& error) {
      fmt::print(stderr, "bench_epochs: {}: {}\n", words[at], error.what());
      good = false;
    }
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) {
  try {
    return likewise::run_all({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_epochs: {}\n", error.what());
    return 1;
  }
}
