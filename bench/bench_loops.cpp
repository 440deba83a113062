// SPDX-License-Identifier: Apache-2.0
/// What a loop over all threads takes besides its work: most steps on the host are such loops, and
/// a short one may wait for threads that sleep.
///
///     bench_loops TASKS:MICROSECONDS:PAUSE...
///
/// A loop of so many tasks, each busy for so many microseconds, after a pause of so many in which
/// nobody has work. Rows of a Markdown table: the median of 300 loops, with the tenth and the
/// ninetieth percentile, and what the work alone would take, shared out evenly.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/system/parallel.h"
#include "likewise/control.h"
#include "program.h"

namespace likewise {
namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr int kWarmUp = 50;
constexpr int kLoops = 300;

void be_busy(Microseconds time) {
  const auto begin = Clock::now();
  while (Clock::now() - begin < time) {
  }
}

void measure(const std::string& work) {
  const auto first = work.find(':');
  const auto second = work.find(':', first + 1);
  if (second == std::string::npos) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("'{}' is not TASKS:MICROSECONDS:PAUSE", work));
  }
  const Offset tasks = std::stoll(work);
  const Microseconds each(std::stod(work.substr(first + 1)));
  const Microseconds pause(std::stod(work.substr(second + 1)));
  std::vector<double> times;
  for (int loop = 0; loop < kWarmUp + kLoops; ++loop) {
    std::this_thread::sleep_for(pause);
    const auto begin = Clock::now();
    parallel_for(tasks, 1, [&](Offset) { be_busy(each); });
    const Microseconds passed = Clock::now() - begin;
    if (loop >= kWarmUp) times.push_back(passed.count());
  }
  std::ranges::sort(times);
  const Offset rounds = (tasks + thread_count() - 1) / thread_count();
  fmt::print("| {} | {:g} | {:g} | {:.1f} ({:.1f} - {:.1f}) | {:.1f} |\n", tasks, each.count(),
             pause.count(), median(times), times[kLoops / 10], times[kLoops * 9 / 10],
             static_cast<double>(rounds) * each.count());
}

int run(const std::vector<std::string>& works) {
  fmt::print("{} threads\n\n", thread_count());
  fmt::print(
      "| tasks | each, us | pause, us | a loop, us | its work alone, us "
      "|\n|---|---|---|---|---|\n");
  for (const std::string& work : works) measure(work);
  return 0;
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) { return likewise::run_program(argc, argv, likewise::run); }
