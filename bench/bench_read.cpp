// SPDX-License-Identifier: Apache-2.0
/// Rows per second and peak memory of read_interactions, and of make_interactions for the same rows
/// in memory (whose peak has the columns, and those measured before, in it).
/// usage: bench_read [ROWS=20000000] [THREADS=0] [FILE]   (without FILE: a synthetic ratings file,
/// whose users and items have MovieLens' long tails, written to the temporary folder and removed)
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "core/random.h"
#include "likewise/control.h"
#include "likewise/make_interactions.h"
#include "likewise/read.h"

namespace {

using likewise::Offset;

/// Calls row(user, film, half_stars, time) sorted by user, films in random order.
template <class Row>
void make_ratings(Offset rows, const Row& row) {
  likewise::CounterRandom random(1, likewise::kStreamSynthetic, 0);
  Offset done = 0;
  for (Offset user = 1; done < rows; ++user) {
    // About 144 ratings each; most users have fewer, some thousands.
    const auto count = static_cast<Offset>(20 - 124 * std::log1p(-random.uniform()));
    for (Offset i = 0; i < count && done < rows; ++i, ++done) {
      const auto film = static_cast<Offset>(131262 * std::pow(random.uniform(), 4)) + 1;
      const auto half_stars = 2 * random.below(5) + random.below(2);
      row(user, film, half_stars, 800000000 + random.below(600000000));
    }
  }
}

/// userId,movieId,rating,timestamp
void write_ratings(const std::string& path, Offset rows) {
  std::ofstream file(path, std::ios::binary);
  file << "userId,movieId,rating,timestamp\n";
  fmt::memory_buffer text;
  const auto flush = [&] {
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    text.clear();
  };
  make_ratings(rows, [&](Offset user, Offset film, std::uint64_t half_stars, std::uint64_t time) {
    fmt::format_to(std::back_inserter(text), "{},{},{}.{},{}\n", user, film, half_stars / 2,
                   half_stars % 2 * 5, time);
    if (text.size() >= (1U << 20)) flush();
  });
  flush();
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

/// The same rows as columns.
struct Columns {
  std::vector<std::int64_t> users;
  std::vector<std::int64_t> films;
  std::vector<float> values;
  std::vector<std::int64_t> times;
};

Columns make_columns(Offset rows) {
  Columns columns;
  make_ratings(rows, [&](Offset user, Offset film, std::uint64_t half_stars, std::uint64_t time) {
    columns.users.push_back(user);
    columns.films.push_back(film);
    columns.values.push_back(static_cast<float>(half_stars) / 2);
    columns.times.push_back(static_cast<std::int64_t>(time));
  });
  return columns;
}

/// Ids of integers, one after the other.
struct Text {
  std::vector<std::int64_t> offsets{0};
  std::string bytes;
  explicit Text(std::span<const std::int64_t> ids) {
    for (const std::int64_t id : ids) {
      fmt::format_to(std::back_inserter(bytes), "id{}", id);
      offsets.push_back(std::ssize(bytes));
    }
  }
  [[nodiscard]] likewise::TextColumn column() const { return {std::span(offsets), bytes}; }
};

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/// Times `make(summary)`; the peak is that of the whole process.
template <class Make>
void measure(const char* what, int threads, const Make& make) {
  const double cpu_before = cpu_seconds();
  const auto start = std::chrono::steady_clock::now();
  likewise::ReadSummary summary;
  Offset nnz = 0;
  likewise::with_threads(threads, [&] { nnz = make(&summary).by_user.nnz(); });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{:<20} {:>11} rows {:>11} entries {:>7.2f} s {:>7.2f} cpu-s {:>7.2f} Mrows/s {:>6} MB "
      "peak\n",
      what, summary.rows, nnz, seconds, cpu_seconds() - cpu_before,
      static_cast<double>(summary.rows) / seconds * 1e-6, usage.ru_maxrss / 1024);
  std::fflush(stdout);
}

/// In a process of its own, so that the peak memory is this work's alone.
template <class Work>
void apart(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
}

void measure_memory(Offset rows, int threads) {
  using likewise::make_interactions;
  apart([&] {
    const Columns c = make_columns(rows);
    const std::span<const std::int64_t> users(c.users);
    const std::span<const std::int64_t> films(c.films);
    measure("integers, no times", threads,
            [&](auto* met) { return make_interactions(users, films, c.values, {}, {}, met); });
    measure("integers, times", threads, [&](auto* met) {
      return make_interactions(users, films, c.values, {c.times, {}}, {}, met);
    });
    const auto count = [](const auto& ids) {
      return static_cast<likewise::Index>(*std::max_element(ids.begin(), ids.end()) + 1);
    };
    measure("indices, no times", threads, [&](auto* met) {
      return make_interactions(likewise::IndexColumn{c.users, count(users)},
                               likewise::IndexColumn{c.films, count(films)}, c.values, {}, {}, met);
    });
  });
  apart([&] {
    const Columns c = make_columns(rows);
    const Text users(c.users);
    const Text films(c.films);
    measure("text, no times", threads, [&](auto* met) {
      return make_interactions(users.column(), films.column(), c.values, {}, {}, met);
    });
  });
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
      apart([&] {
        measure(times ? "file, times" : "file, no times", threads, [&](auto* met) {
          return likewise::read_interactions(path, {.keep_times = times}, met);
        });
      });
    }
    if (made_up) std::filesystem::remove(path);
    if (made_up) measure_memory(rows, threads);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
