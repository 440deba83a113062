// SPDX-License-Identifier: Apache-2.0
/// `run_program`: the main() of benchmarks that take words; `run_works`: of those that take DEVICE
/// ROUNDS WORK...; `median`, `spread`: what they print of their rounds.
#pragma once

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "likewise/device.h"

namespace likewise {

/// Of one value at least; of an even number of them the mean of the two in the middle.
[[nodiscard]] inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// "median (least - most)" of one value at least, each times `unit`, with so many digits behind the
/// point.
[[nodiscard]] inline std::string spread(const std::vector<double>& values, int digits,
                                        double unit = 1.0) {
  const auto text = [&](double value) { return fmt::format("{:.{}f}", unit * value, digits); };
  const auto [least, most] = std::ranges::minmax(values);
  return fmt::format("{} ({} - {})", text(median(values)), text(least), text(most));
}

/// run(the words of the command line) says how to exit; what it throws is told after the program's
/// name, and 1 is returned.
template <class Run>
int run_program(int argc, char** argv, const Run& run) {
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    const std::string name = std::filesystem::path(argv[0]).filename().string();
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 1;
  }
}

/// measure(device, work, rounds) for each work, after begin(device). Without words: `usual_device`,
/// 5 rounds, `usual_works`.
template <class Begin, class Measure>
int run_works(int argc, char** argv, const char* usual_device,
              const std::vector<std::string>& usual_works, const Begin& begin,
              const Measure& measure) {
  return run_program(argc, argv, [&](const std::vector<std::string>& words) {
    const Device device = open_device(words.empty() ? usual_device : words[0]);
    const int rounds = words.size() > 1 ? std::max(1, std::stoi(words[1])) : 5;
    std::vector<std::string> works(words.begin() + std::min<std::ptrdiff_t>(2, std::ssize(words)),
                                   words.end());
    if (works.empty()) works = usual_works;
    begin(device);
    for (const std::string& work : works) measure(device, work, rounds);
    return 0;
  });
}

}  // namespace likewise
