// SPDX-License-Identifier: Apache-2.0
/// Closed forms on a device, from interactions on the host to what is learned on the host, in
/// seconds: median and range of the rounds after one, as a Markdown table row for each work, with
/// what the device says of its stages. Where the first round has more to do, its time is told on
/// stderr.
///
///     bench_closed [DEVICE [ROUNDS [WORK...]]]
///     bench_closed cuda 5 ease:30000x41000x1000000 spectral:ml-20m:512
///     bench_closed cuda 5 lists:30000x41000x1000000:20 local:ml-20m:200
///
/// A work is one of these; a shape is one of `likewise generate`.
///     ease:SHAPE              dense weights, with the default parameters
///     local:SHAPE:M           weights of M candidates, with the search for these
///     lists:SHAPE:K           K items that are new to a user, for every user, by dense weights;
///                             the first round brings the weights to the GPU
///     spectral:SHAPE:FACTORS
///
/// The floor of a GPU is what an H100 needs at its peaks: 3.35 TB/s of memory and 67 TFLOP/s in
/// float32.
///     local   the system of all items written twice, 32 bytes for each number that a system of
///             candidates gathers, M^3 / 3 operations for each of these; not the search
///     lists   a row of the weights read for each interaction; a cache may save some of it
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/ease/ease.h"
#include "algorithms/spectral/spectral.h"
#include "core/system/parallel.h"
#include "core/system/seconds.h"
#include "likewise/recommender.h"
#include "likewise/synthetic.h"
#include "program.h"

namespace likewise {
namespace {

constexpr double kBandwidth = 3.35e12;
constexpr double kOperations = 67e12;

struct Work {
  std::string text;
  std::string algorithm;
  std::string shape;
  int count = 0;  ///< of factors, of candidates, of answers
};

[[nodiscard]] Work parse_work(const std::string& text) {
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first + 1);
  if (first == std::string::npos) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("a work is ease:SHAPE, local:SHAPE:M, lists:SHAPE:K or "
                            "spectral:SHAPE:FACTORS, not {}",
                            text));
  }
  Work work{text, text.substr(0, first), text.substr(first + 1, second - first - 1)};
  if (second != std::string::npos) work.count = std::stoi(text.substr(second + 1));
  if ((work.count > 0) != (work.algorithm != "ease")) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("a number belongs to local, lists and spectral, not to ease: {}", text));
  }
  return work;
}

/// What is measured; what it makes goes at once.
using Round = std::function<void(const RunControl&)>;

[[nodiscard]] Round training_round(const EaseParams& params, const Interactions& data,
                                   const Device& device) {
  return [=, &data](const RunControl& control) {
    (void)train_ease(data.by_user.view(), params, device, control);
  };
}

/// Numbers of all sizes: how large they are does not matter to sums.
[[nodiscard]] Matrix some_weights(Index items) {
  Matrix b(items, items);
  parallel_for(items, 16, [&](Offset i) {
    std::uint32_t state = static_cast<std::uint32_t>(i) * 2654435761U + 1U;
    for (float& x : b.row_span(static_cast<Index>(i))) {
      state = state * 1664525U + 1013904223U;
      x = static_cast<float>(state >> 8) * 0x1p-24F - 0.5F;
    }
  });
  return b;
}

[[nodiscard]] Round lists_round(int k, Interactions& data, const Device& device) {
  auto model = std::make_shared<Model>();
  model->learned = ItemWeights{some_weights(data.by_user.cols)};
  model->params = EaseParams{.form = EaseForm::kDense};
  model->users = std::move(data.users);
  model->items = std::move(data.items);
  model->history = std::move(data.by_user);
  std::vector<Index> users(static_cast<std::size_t>(model->history.rows));
  std::iota(users.begin(), users.end(), 0);
  const auto recommender = std::make_shared<const Recommender>(model, device);
  return [=](const RunControl& control) {
    (void)recommender->recommend(users, {.n = static_cast<Index>(k)}, control);
  };
}

[[nodiscard]] Round round_of(const Work& work, Interactions& data, const Device& device) {
  if (work.algorithm == "ease") {
    return training_round({.form = EaseForm::kDense}, data, device);
  }
  if (work.algorithm == "local") {
    return training_round({.form = EaseForm::kLocal, .candidates = work.count}, data, device);
  }
  if (work.algorithm == "lists") return lists_round(work.count, data, device);
  SpectralParams params;
  params.factors = work.count;
  return [=, &data, &device](const RunControl& control) {
    (void)train_spectral(data.by_user.view(), params, device, control);
  };
}

/// Seconds; 0: not known.
[[nodiscard]] double floor_of(const Work& work, const CsrView& by_user) {
  const double items = by_user.cols;
  if (work.algorithm == "lists") {
    return static_cast<double>(by_user.nnz()) * items * 4.0 / kBandwidth;
  }
  if (work.algorithm != "local") return 0.0;
  const double m = std::min<double>(work.count, items);
  const double bytes = 2.0 * items * items * 4.0 + items * m * m / 2.0 * 32.0;
  return bytes / kBandwidth + items * m * m * m / 3.0 / kOperations;
}

[[nodiscard]] std::string floor_text(double floor, double seconds) {
  if (floor == 0.0) return "";
  return fmt::format("{:.4f} ({:.0f} %)", floor, 100.0 * floor / seconds);
}

void measure(const Device& device, const std::string& text, int rounds) {
  const Work work = parse_work(text);
  Interactions data = generate(parse_shape(work.shape));
  const Offset interactions = data.by_user.nnz();
  const double floor = device.name() == "cpu" ? 0.0 : floor_of(work, data.by_user.view());
  const Round run = round_of(work, data, device);
  std::string stages;
  RunControl control;
  control.on_progress = [&](const ProgressUpdate& update) {
    if (update.unit.empty()) stages = update.stage;
  };
  std::vector<double> seconds;
  for (int round = 0; round <= rounds; ++round) {
    const double took = seconds_of([&] { run(control); });
    fmt::print(stderr, "{} round {}: {:.3f} s; {}\n", text, round, took, stages);
    if (round > 0) seconds.push_back(took);
  }
  fmt::print("| {} | {} | {} | {} | {} |\n", text, interactions, spread(seconds, 3),
             floor_text(floor, median(seconds)), stages);
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) {
  using namespace likewise;
  const auto begin = [](const Device& device) {
    fmt::print(
        "{}\n\n| work | interactions | s | floor (of it) | stages |\n|---|---|---|---|---|\n",
        device.description());
  };
  return run_works(argc, argv, "cuda", {"ease:30000x41000x1000000"}, begin, measure);
}
