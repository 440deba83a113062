// SPDX-License-Identifier: Apache-2.0
/// Closed forms on a GPU, from interactions on the host to what is learned on the host, in seconds:
/// median and range of the rounds after one, as a Markdown table row for each work, with what the
/// device says of its stages.
///
///     bench_closed_gpu [DEVICE [ROUNDS [WORK...]]]
///     bench_closed_gpu cuda 5 ease:30000x41000x1000000 spectral:ml-20m:512
///
/// A work is ease:SHAPE, with the default parameters, or spectral:SHAPE:FACTORS; a shape is one of
/// `likewise generate`.
#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "algorithms/ease/ease.h"
#include "algorithms/spectral/spectral.h"
#include "likewise/synthetic.h"
#include "program.h"

namespace likewise {
namespace {

struct Work {
  std::string text;
  std::string algorithm;
  std::string shape;
  int factors = 0;
};

[[nodiscard]] Work parse_work(const std::string& text) {
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first + 1);
  if (first == std::string::npos) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("a work is ease:SHAPE or spectral:SHAPE:FACTORS, not {}", text));
  }
  Work work{text, text.substr(0, first), text.substr(first + 1, second - first - 1)};
  if (second != std::string::npos) work.factors = std::stoi(text.substr(second + 1));
  return work;
}

/// What is learned goes at once.
[[nodiscard]] std::function<void(const RunControl&)> training_of(const Work& work,
                                                                 const CsrView& by_user,
                                                                 const Device& device) {
  if (work.algorithm == "ease") {
    EaseParams params;
    params.form = EaseForm::kDense;
    return [=](const RunControl& control) { (void)train_ease(by_user, params, device, control); };
  }
  SpectralParams params;
  params.factors = work.factors;
  return [=](const RunControl& control) { (void)train_spectral(by_user, params, device, control); };
}

void measure(const Device& device, const std::string& text, int rounds) {
  const Work work = parse_work(text);
  const Interactions data = generate(parse_shape(work.shape));
  const auto train = training_of(work, data.by_user.view(), device);
  std::string stages;
  RunControl control;
  control.on_progress = [&](const ProgressUpdate& update) {
    if (update.unit.empty()) stages = update.stage;
  };
  std::vector<double> seconds;
  for (int round = 0; round <= rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    train(control);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    fmt::print(stderr, "{} round {}: {:.3f} s; {}\n", text, round, took.count(), stages);
    if (round > 0) seconds.push_back(took.count());
  }
  std::ranges::sort(seconds);
  fmt::print("| {} | {} | {:.3f} ({:.3f} - {:.3f}) | {} |\n", text, data.by_user.nnz(),
             seconds[seconds.size() / 2], seconds.front(), seconds.back(), stages);
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) {
  using namespace likewise;
  const auto begin = [](const Device& device) {
    fmt::print("{}\n\n| work | interactions | s | stages |\n|---|---|---|---|\n",
               device.description());
  };
  return run_works(argc, argv, "cuda", {"ease:30000x41000x1000000"}, begin, measure);
}
