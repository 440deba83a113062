// SPDX-License-Identifier: Apache-2.0
/// The energy of trainings beside their time, as rows of a Markdown table.
///
///     bench_energy DEVICE DATA ROUNDS ALGORITHM[:NAME=VALUE]... ...
///
/// Joules are those of the GPU's counter and of the processor's, over a whole training: from the
/// data in the machine's memory to the model there. "At rest" is the GPU's power over two seconds
/// before, with its context open. A counter that cannot be read leaves its column empty, and a
/// sentence below says why. trainings.h says what DATA may be. Counters move some ten times a
/// second, so a round repeats a training for two seconds at least. Medians with the least and the
/// most of the rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "energy_meter.h"
#include "likewise/likewise.h"
#include "program.h"
#include "training/train.h"
#include "trainings.h"

namespace likewise {
namespace {

constexpr double kLeastSeconds = 2.0;  ///< of a round

struct Round {
  double seconds = 0.0;
  Energy energy;
};

template <class Work>
[[nodiscard]] Round measure(const EnergyMeter& meter, const Work& work) {
  const Energy before = meter.read();
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  return {passed.count(), meter.between(before, meter.read())};
}

/// The same of each of so many.
template <class Work>
[[nodiscard]] Round measure_often(const EnergyMeter& meter, const Work& work, int times) {
  Round all = measure(meter, [&] {
    for (int i = 0; i < times; ++i) work();
  });
  all.seconds /= times;
  if (all.energy.gpu) *all.energy.gpu /= times;
  if (all.energy.processor) *all.energy.processor /= times;
  return all;
}

/// "median (least - most)"; empty where one is missing.
template <class Of>
[[nodiscard]] std::string spread_of(const std::vector<Round>& rounds, int digits, const Of& of) {
  std::vector<double> values;
  for (const Round& round : rounds) {
    const std::optional<double> value = of(round);
    if (!value) return {};
    values.push_back(*value);
  }
  return spread(values, digits);
}

[[nodiscard]] std::string watts_at_rest(const EnergyMeter& meter) {
  const Round rest = measure(meter, [] { std::this_thread::sleep_for(std::chrono::seconds(2)); });
  return rest.energy.gpu ? fmt::format("{:.0f}", *rest.energy.gpu / rest.seconds) : "";
}

void print_row(const std::string& name, const Device& device, const std::string& training,
               const std::vector<Round>& rounds, const std::string& rest) {
  const auto watts = [](const Round& one) -> std::optional<double> {
    if (!one.energy.gpu) return std::nullopt;
    return *one.energy.gpu / one.seconds;
  };
  fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} |\n", name, device.name(), training,
             spread_of(rounds, 2, [](const Round& one) { return std::optional(one.seconds); }),
             spread_of(rounds, 0, [](const Round& one) { return one.energy.gpu; }),
             spread_of(rounds, 0, watts), rest,
             spread_of(rounds, 0, [](const Round& one) { return one.energy.processor; }));
  std::fflush(stdout);
}

/// "cuda:1" and "cuda:1,2" are 1; -1 for other devices.
[[nodiscard]] int first_gpu(const Device& device) {
  const std::string name(device.name());
  return name.starts_with("cuda:") ? std::stoi(name.substr(5)) : -1;
}

int run(const std::vector<std::string>& words) {
  if (words.size() < 4) {
    fmt::print(stderr, "bench_energy: its file says what it takes\n");
    return 2;
  }
  const Interactions data = open_data(words[1]);
  const Device device = open_device(words[0]);
  const EnergyMeter meter(first_gpu(device));
  fmt::print(
      "| data | device | training | s | GPU, J | GPU, W | GPU at rest, W | processor, J |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (std::size_t at = 3; at < words.size(); ++at) {
    const TrainingParams params = parse_training(words[at], feedback_of(words[1]));
    const auto work = [&] { (void)train(data, params, device, ResolvedRun{}); };
    work();  // loads kernels, and opens the context
    const double once = measure(meter, work).seconds;
    const std::string rest = watts_at_rest(meter);
    std::vector<Round> rounds;
    for (int round = 0; round < std::stoi(words[2]); ++round) {
      rounds.push_back(measure_often(meter, work, static_cast<int>(kLeastSeconds / once) + 1));
    }
    print_row(words[1], device, words[at], rounds, rest);
  }
  for (const std::string& sentence : meter.missing()) fmt::print("\n{}\n", sentence);
  return 0;
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) { return likewise::run_program(argc, argv, likewise::run); }
