// SPDX-License-Identifier: Apache-2.0
/// usage: bench_generate [SHAPE [THREADS [FILE]]]: how fast synthetic data is made (and written,
/// when a file is named), and what it looks like.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <fmt/format.h>

#include "likewise/synthetic.h"
#include "likewise/write.h"

namespace {

using namespace likewise;

struct Times {
  double wall;
  double cpu;
};

Times now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  const auto wall = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double>(wall).count(),
          seconds(usage.ru_utime) + seconds(usage.ru_stime)};
}

void report_time(const char* stage, Offset rows, const Times& start) {
  const Times end = now();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{:9} {:8.2f} s wall {:8.2f} s cpu {:8.2f} M rows/s wall {:8.2f} M rows/cpu-s, "
      "peak {:.2f} GiB\n",
      stage, end.wall - start.wall, end.cpu - start.cpu,
      1e-6 * static_cast<double>(rows) / (end.wall - start.wall),
      1e-6 * static_cast<double>(rows) / (end.cpu - start.cpu),
      static_cast<double>(usage.ru_maxrss) / (1 << 20));
}

void report_counts(const char* side, std::vector<Offset> counts) {
  std::sort(counts.begin(), counts.end());
  const Offset sum = std::accumulate(counts.begin(), counts.end(), Offset{0});
  const double mean = static_cast<double>(sum) / static_cast<double>(counts.size());
  const auto at = [&](double share) {
    return counts[static_cast<std::size_t>(share * static_cast<double>(counts.size() - 1))];
  };
  fmt::print("{:9} {}, min {} 10% {} median {} mean {:.1f} 90% {} 99% {} max {}\n", side,
             counts.size(), at(0), at(0.1), at(0.5), mean, at(0.9), at(0.99), at(1.0));
}

void report_look(const CsrMatrix& m) {
  std::vector<Offset> users(static_cast<std::size_t>(m.rows));
  std::vector<Offset> items(static_cast<std::size_t>(m.cols));
  for (Index row = 0; row < m.rows; ++row) {
    users[static_cast<std::size_t>(row)] = m.view().row_size(row);
  }
  std::vector<Offset> histogram(6);
  double sum = 0.0;
  double squares = 0.0;
  for (Offset i = 0; i < m.nnz(); ++i) {
    ++items[static_cast<std::size_t>(m.columns[i])];
    ++histogram[static_cast<std::size_t>(std::min(m.values[i], 6.0F)) - 1];
    sum += m.values[i];
    squares += static_cast<double>(m.values[i]) * m.values[i];
  }
  report_counts("users", users);
  report_counts("items", items);
  const auto n = static_cast<double>(m.nnz());
  fmt::print("values    {}, mean {:.3f} sd {:.3f}; 1..5, more:", m.nnz(), sum / n,
             std::sqrt(squares / n - sum / n * sum / n));
  for (const Offset count : histogram) fmt::print(" {:.3f}", static_cast<double>(count) / n);
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "ml-20m";
  const int threads = argc > 2 ? std::atoi(argv[2]) : 0;
  with_threads(threads, [&] {
    const Times start = now();
    const Interactions data = generate(parse_shape(name));
    const Offset nnz = data.by_user.nnz();
    report_time("generate", nnz, start);
    if (argc > 3) {
      const Times writing = now();
      write_interactions(data, argv[3]);
      report_time("write", nnz, writing);
    }
    report_look(data.by_user);
  });
}
