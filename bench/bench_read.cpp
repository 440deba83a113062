// SPDX-License-Identifier: Apache-2.0
/// Rows per second and peak memory of read_interactions.
/// usage: bench_read [ROWS=20000000] [THREADS=0] [FILE]   (without FILE: a made-up ratings file,
/// whose users and items have MovieLens' long tails, written to the temporary folder and removed)
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/random.h"
#include "likewise/control.h"
#include "likewise/error.h"
#include "likewise/read.h"

namespace {

using likewise::Offset;

/// userId,movieId,rating,timestamp: sorted by user, films in random order.
void write_ratings(const std::string& path, Offset rows) {
  std::ofstream file(path, std::ios::binary);
  likewise::CounterRandom random(1, likewise::kStreamSynthetic, 0);
  file << "userId,movieId,rating,timestamp\n";
  fmt::memory_buffer text;
  Offset row = 0;
  for (Offset user = 1; row < rows; ++user) {
    // About 144 ratings each; most users have fewer, some thousands.
    const auto count = static_cast<Offset>(20 - 124 * std::log1p(-random.uniform()));
    for (Offset i = 0; i < count && row < rows; ++i, ++row) {
      const auto film = static_cast<Offset>(131262 * std::pow(random.uniform(), 4)) + 1;
      fmt::format_to(std::back_inserter(text), "{},{},{}.{},{}\n", user, film, random.below(5),
                     random.below(2) * 5, 800000000 + random.below(600000000));
    }
    if (text.size() < (1U << 20) && row < rows) continue;
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    text.clear();
  }
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

/// Reads in a process of its own, so that its peak memory is this reading's alone.
int measure(const std::string& path, int threads, bool times) {
  const auto start = std::chrono::steady_clock::now();
  likewise::ReadSummary summary;
  Offset nnz = 0;
  likewise::with_threads(threads, [&] {
    const auto data = likewise::read_interactions(path, {.keep_times = times}, &summary);
    nnz = data.by_user.nnz();
  });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double cpu = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  fmt::print(
      "{:<14} {:>11} rows {:>11} entries {:>7.2f} s {:>7.2f} cpu-s {:>7.2f} Mrows/s {:>6} MB "
      "peak\n",
      times ? "with times" : "without times", summary.rows, nnz, seconds, cpu,
      static_cast<double>(summary.rows) / seconds * 1e-6, usage.ru_maxrss / 1024);
  std::fflush(stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Offset rows = argc > 1 ? std::atoll(argv[1]) : 20'000'000;
    const int threads = argc > 2 ? std::atoi(argv[2]) : 0;
    const bool made_up = argc <= 3;
    const std::string path = made_up ? (std::filesystem::temp_directory_path() /
                                        fmt::format("likewise-bench-{}.csv", getpid()))
                                           .string()
                                     : argv[3];
    if (made_up) write_ratings(path, rows);
    for (const bool times : {false, true}) {
      const pid_t child = fork();
      if (child == 0) _exit(measure(path, threads, times));
      int status = 0;
      waitpid(child, &status, 0);
    }
    if (made_up) std::filesystem::remove(path);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
