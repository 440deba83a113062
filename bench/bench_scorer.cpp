// SPDX-License-Identifier: Apache-2.0
/// Top-k for every user: seconds, the rate a full product would need for that, the share of pairs
/// never looked at, and the rate of a plain sgemm measured in the same run.
///
///     bench_scorer [USERS ITEMS FACTORS K THREADS]          synthetic long-tailed factors
///     bench_scorer FILE_PREFIX K THREADS                    raw float32 factors (see load())
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <cblas.h>
#include <fmt/format.h>

#include "backends/cpu/jobs.h"
#include "backends/cpu/top_k/top_k_search.h"
#include "backends/jobs/device_jobs.h"
#include "core/system/parallel.h"
#include "core/system/seconds.h"
#include "likewise/control.h"

namespace likewise {
namespace {

struct Problem {
  Matrix users;
  Matrix items;
  std::vector<float> item_bias;
  CsrMatrix seen;
};

/// Rows of lognormal lengths, the spread that trained factors show; taste decays over factors.
Matrix made_up(Index rows, Index cols, double spread, std::uint64_t seed) {
  Matrix m(rows, cols);
  parallel_blocks(rows, 1024, [&](Offset begin, Offset end, Offset block) {
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(block) * 7919);
    std::normal_distribution<double> normal;
    for (Offset r = begin; r < end; ++r) {
      const double length = std::exp(spread * normal(random));
      for (Index j = 0; j < cols; ++j) {
        const double decay = 1.0 / std::sqrt(1.0 + 0.1 * j);
        m.row(static_cast<Index>(r))[j] = static_cast<float>(length * decay * normal(random));
      }
    }
  });
  return m;
}

/// About `per_row` seen items a user, popular ones more often.
CsrMatrix made_up_seen(Index rows, Index cols, double per_row, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  std::vector<Index> columns;
  CsrMatrix m{rows, cols, Array<Offset>(Offset{rows} + 1), {}, {}};
  for (Index r = 0; r < rows; ++r) {
    std::vector<Index> row(static_cast<std::size_t>(-per_row * std::log1p(-uniform(random))));
    for (Index& c : row) c = static_cast<Index>(std::pow(uniform(random), 3.0) * cols);
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    columns.insert(columns.end(), row.begin(), row.end());
    m.offsets[r + 1] = static_cast<Offset>(columns.size());
  }
  m.columns = Array<Index>::copy_of(columns);
  m.values = Array<float>(m.columns.size());
  return m;
}

template <class T>
std::vector<T> read_all(const std::string& path, Offset count) {
  std::vector<T> result(static_cast<std::size_t>(count));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(result.data()),
            static_cast<std::streamsize>(count * sizeof(T)));
  if (!file) throw Error(ErrorKind::kIo, path + ": cannot be read");
  return result;
}

Matrix load_matrix(const std::string& path, Index rows, Index cols) {
  const auto values = read_all<float>(path, Offset{rows} * cols);
  Matrix m(rows, cols);
  for (Index r = 0; r < rows; ++r) {
    std::copy_n(values.data() + Offset{r} * cols, cols, m.row(r));
  }
  return m;
}

/// PREFIX.shape (users items factors), .users, .items (float32 rows), .bias (float32, optional),
/// .offsets (int64) and .columns (int32) of the training matrix.
Problem load(const std::string& prefix) {
  Index users = 0;
  Index items = 0;
  Index factors = 0;
  std::ifstream(prefix + ".shape") >> users >> items >> factors;
  Problem p{load_matrix(prefix + ".users", users, factors),
            load_matrix(prefix + ".items", items, factors),
            {},
            {}};
  if (std::ifstream(prefix + ".bias")) p.item_bias = read_all<float>(prefix + ".bias", items);
  const auto offsets = read_all<Offset>(prefix + ".offsets", Offset{users} + 1);
  const auto columns = read_all<Index>(prefix + ".columns", offsets.back());
  p.seen = {users, items, Array<Offset>::copy_of(offsets), Array<Index>::copy_of(columns),
            Array<float>(static_cast<Offset>(columns.size()))};
  return p;
}

/// GFLOP/s of one thread multiplying blocks of users by a block of items that stays in cache.
double sgemm_rate(const Problem& p) {
  const Index rows = std::min<Index>(p.users.rows(), 512);
  const Index cols = std::min<Index>(p.items.rows(), 512);
  std::vector<float> out(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
  const auto run = [&] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, cols, p.users.cols(), 1.0F,
                p.users.data(), p.users.stride(), p.items.data(), p.items.stride(), 0.0F,
                out.data(), cols);
  };
  run();
  double best = 1e9;
  for (int i = 0; i < 100; ++i) best = std::min(best, seconds_of(run));
  return 2.0 * rows * cols * p.users.cols() / best * 1e-9;
}

void measure(const Problem& p, Index k, bool filtered, EstimateKind kind) {
  ScanCounts counts;
  std::unique_ptr<Scorer> scorer;
  const double packing = seconds_of([&] {
    scorer = make_cpu_scorer(p.items.view(), p.item_bias, ScoreKind::kDot, {&counts, kind});
  });
  TopKFilter filter;
  if (filtered) filter.excluded = p.seen.view();
  std::vector<double> times;
  double checksum = 0.0;
  const std::clock_t cpu_begin = std::clock();
  for (int i = 0; i < 5; ++i) {
    times.push_back(seconds_of([&] {
      const TopKResult top = scorer->top_k(p.users.view(), k, filter, {});
      for (const float s : top.scores) checksum += s;
    }));
  }
  const double cpu = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC / 5;
  std::sort(times.begin(), times.end());
  const double pairs = static_cast<double>(p.users.rows()) * p.items.rows();
  fmt::print(
      "{:<7} {:<6} {:.3f} s (median; best {:.3f}; CPU {:.3f}; packing {:.4f})  {:.0f} GFLOP/s "
      "equivalent  "
      "{:.1f} % of pairs skipped  {:.0f} exact scores a query  (checksum {:.3f})\n",
      kind == EstimateKind::kAuto ? "auto" : "float32", filtered ? "unseen" : "all", times[2],
      times[0], cpu, packing, 2.0 * pairs * p.items.cols() / times[2] * 1e-9,
      100.0 * (1.0 - static_cast<double>(counts.scanned) / 5 / pairs),
      static_cast<double>(counts.rescored) / 5 / p.users.rows(), checksum / 5);
}

void run(int argc, char** argv) {
  const auto number = [&](int i, int otherwise) {
    return argc > i ? std::atoi(argv[i]) : otherwise;
  };
  const bool from_file = argc > 1 && std::atoi(argv[1]) == 0;
  const Index k = from_file ? number(2, 10) : number(4, 10);
  const int threads = from_file ? number(3, 0) : number(5, 0);
  with_threads(threads, [&] {
    Problem p;
    if (from_file) {
      p = load(argv[1]);
    } else {
      const Index users = number(1, 20000);
      const Index items = number(2, 26744);
      p = {made_up(users, number(3, 64), 0.5, 1),
           made_up(items, number(3, 64), 1.0, 2),
           {},
           made_up_seen(users, items, 140.0, 3)};
    }
    openblas_set_num_threads(1);
    fmt::print(
        "{} users x {} items, f = {}, top {}, {} threads, {}; sgemm on one thread {:.0f} "
        "GFLOP/s\n",
        p.users.rows(), p.items.rows(), p.items.cols(), k, thread_count(), instruction_set(),
        sgemm_rate(p));
    for (const EstimateKind kind : {EstimateKind::kAuto, EstimateKind::kFloat32}) {
      measure(p, k, true, kind);
      measure(p, k, false, kind);
    }
  });
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) {
  try {
    likewise::run(argc, argv);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "bench_scorer: {}\n", e.what());
    return 1;
  }
}
