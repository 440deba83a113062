// SPDX-License-Identifier: Apache-2.0
/// One row of an ALS half-step on one thread, by number of interactions and factors: the rate of
/// one pass of conjugate gradients, and the time and rate of the exact solution, compared to the
/// rate of a large product (sgemm) measured in the same run.
///
///     bench_als [ROWS_OF_THE_FIXED_SIDE]        default 20000, the popular ones met more often
#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <cblas.h>
#include <fmt/format.h>

#include "algorithms/als/als.h"
#include "backends/cpu/als/als_row.h"
#include "core/linalg/dense_kernels.h"
#include "likewise/control.h"

namespace likewise {
namespace {

/// Best of several rounds, in seconds per call: what the machine can do when nothing interrupts.
double best_seconds(const std::function<void()>& work) {
  const auto time = [&](int calls) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls;
  };
  const int calls = std::max(1, static_cast<int>(2e-3 / std::max(1e-7, time(1))));
  double best = 1e9;
  for (int round = 0; round < 15; ++round) best = std::min(best, time(calls));
  return best;
}

/// GFLOP/s of a 768^3 product: the BLAS in use, and our own kernel (whichever is the larger
/// counts).
double product_rate() {
  constexpr Index kSize = 768;
  Matrix a(kSize, kSize);
  Matrix b(kSize, kSize);
  Matrix c(kSize, kSize);
  std::mt19937 random(1);
  for (Offset i = 0; i < Offset{kSize} * kSize; ++i) {
    a.data()[i] = b.data()[i] = static_cast<float>(random()) * 1e-9F;
  }
  const double blas = best_seconds([&] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSize, kSize, kSize, 1.0F, a.data(),
                kSize, b.data(), kSize, 0.0F, c.data(), kSize);
  });
  const double own = best_seconds([&] {
    kernels::multiply({kSize, kSize, kSize, a.data(), kSize, 1, b.data(), kSize, c.data(), kSize});
  });
  const double operations = 2.0 * kSize * kSize * kSize * 1e-9;
  fmt::print("768^3 product, one thread: BLAS {:.0f} GFLOP/s, our kernel {:.0f} GFLOP/s\n",
             operations / blas, operations / own);
  return operations / std::min(blas, own);
}

struct Row {
  std::vector<Index> columns;
  std::vector<float> values;
};

/// `count` different columns in rising order, low numbers more often (popular ones).
Row made_up_row(Index cols, Index count, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform;
  std::vector<char> taken(static_cast<std::size_t>(cols));
  for (Index left = count; left > 0;) {
    const double u = uniform(random);
    char& slot = taken[static_cast<std::size_t>(u * u * u * cols)];
    left -= slot == 0 ? 1 : 0;
    slot = 1;
  }
  Row row;
  for (Index c = 0; c < cols; ++c) {
    if (taken[static_cast<std::size_t>(c)] != 0) row.columns.push_back(c);
  }
  row.values.assign(row.columns.size(), 3.0F);
  return row;
}

void measure(Index fixed_rows, Index f, double peak) {
  AlsParams params;
  params.factors = f;
  Factors factors{Matrix(0, f), draw_factors(Side::kItems, fixed_rows, params), {}, {}, 0.0F};
  const CsrMatrix none{fixed_rows, 1, Array<Offset>(Offset{fixed_rows} + 1), {}, {}};
  AlsFixedSide fixed;
  const CsrView empty = none.view();
  fixed.rotate(fixed_basis(fixed.take({empty, factors.items, {}, 0}, params).gram, params));
  params.solver = AlsSolverKind::kCholesky;
  const AlsRowContext context{
      fixed.rows(), fixed.scale(), fixed.basis(), params, kernels::Weighing::of(params),
      fixed_rows};
  AlsRowSolver exact(context);

  std::mt19937 random(7);
  for (const Index count : {8, 32, 128, 512, 2048}) {
    std::vector<Row> rows;
    for (int i = 0; i < 8; ++i) rows.push_back(made_up_row(fixed_rows, count, random));
    std::size_t turn = 0;
    Matrix z(2, f);
    std::fill_n(z.row(0), f, 0.1F);
    double constant = 0.0;
    std::vector<kernels::Segment> segments;
    std::vector<SegmentBuffer> buffers(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      segments.push_back(
          buffers[i].fill(context, rows[i].columns.data(), rows[i].values.data(), count, constant));
    }
    const double pass = best_seconds([&] {
      (void)kernels::add_product(segments[turn++ % segments.size()], z.row(0), z.row(1));
    });
    const double solve = best_seconds([&] {
      const Row& row = rows[turn++ % rows.size()];
      Index pivot = -1;
      (void)exact.solve(row.columns, row.values, 0.01, z.row(0), pivot);
    });
    const double k = count;
    const double pass_rate = 4.0 * k * f / pass * 1e-9;
    const double dual = k * k * f + k * k * k / 3;
    const double gram = k * f * f + 1.0 * f * f * f / 3;
    const double solve_rate = (count < f ? dual : gram) / solve * 1e-9;
    fmt::print("| {} | {} | {:.2f} | {:.0f} ({:.0f} %) | {:.1f} | {:.0f} ({:.0f} %) |\n", f, count,
               pass * 1e6, pass_rate, 100 * pass_rate / peak, solve * 1e6, solve_rate,
               100 * solve_rate / peak);
  }
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) {
  using namespace likewise;
  const Index rows = argc > 1 ? std::stoi(argv[1]) : 20000;
  openblas_set_num_threads(1);  // with_threads() is about our own loops
  fmt::print("{} kernels, fixed side of {} rows\n", instruction_set(), rows);
  double peak = 0.0;
  with_threads(1, [&] { peak = product_rate(); });
  fmt::print(
      "\n| f | interactions | one pass, us | GFLOP/s (of the product) | exact, us | GFLOP/s (of "
      "the product) |\n"
      "|---|---|---|---|---|---|\n");
  with_threads(1, [&] {
    for (const Index f : {16, 32, 64, 100, 128, 256}) measure(rows, f, peak);
  });
}
