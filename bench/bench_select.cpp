// SPDX-License-Identifier: Apache-2.0
/// Ways to the same numbers: what choosing a part saves of a full sort, what cutting long vectors
/// costs (Kato and Hosino 2009), and what products of blocks save of rank-1 updates (Gates et al.
/// 2015).
///
///     bench_select sort N[,N...] K
///         the K best of N random scores: microseconds of a query on one thread, by several ways
///     bench_select slices ROWS COLUMNS SLICE[,SLICE...]
///         the products of all rows with all others, the columns in slices of so many, the sums in
///         memory: milliseconds on all threads
///     bench_select updates FACTORS[,FACTORS...] INTERACTIONS BLOCK[,BLOCK...]
///         a row's matrix, the sum of y y^T over its interactions, upper triangle, so many of them
///         at a time: microseconds on one thread, by our kernel and by BLAS (one: ssyr, more:
///         ssyrk)
///
/// Rows of a Markdown table. Medians of seven rounds after one, with the least and the most.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <cblas.h>
#include <fmt/format.h>

#include "core/linalg/dense_kernels.h"
#include "core/system/seconds.h"
#include "likewise/likewise.h"
#include "program.h"

namespace likewise {
namespace {

constexpr int kRounds = 7;

/// "median (least - most)" of the seconds that `work` takes, after `prepare`, times `unit`.
[[nodiscard]] std::string spread(double unit, const std::function<void()>& prepare,
                                 const std::function<void()>& work) {
  std::vector<double> all;
  for (int round = 0; round <= kRounds; ++round) {
    prepare();
    const double passed = seconds_of(work);
    if (round > 0) all.push_back(passed);
  }
  return likewise::spread(all, 1, unit);
}

[[nodiscard]] std::vector<int> numbers(const std::string& text) {
  std::vector<int> all;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) all.push_back(std::stoi(word));
  return all;
}

[[nodiscard]] std::vector<float> drawn(std::size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> all(count);
  for (float& x : all) x = normal(random);
  return all;
}

// ---------------------------------------------------------------------------------- sort

struct Scored {
  float score;
  Index row;
};
[[nodiscard]] bool is_better(const Scored& a, const Scored& b) {
  return a.score > b.score || (a.score == b.score && a.row < b.row);
}

using Rows = std::vector<Scored>;

void sort_all(Rows& rows, std::size_t /*k*/) { std::ranges::sort(rows, is_better); }

void sort_part(Rows& rows, std::size_t k) {
  std::ranges::partial_sort(rows, rows.begin() + static_cast<std::ptrdiff_t>(k), is_better);
}

void divide_then_sort(Rows& rows, std::size_t k) {
  const auto middle = rows.begin() + static_cast<std::ptrdiff_t>(k);
  std::ranges::nth_element(rows, middle, is_better);
  std::sort(rows.begin(), middle, is_better);
}

/// What beats the worst of the best so far goes to a buffer of 2 k, which is divided when it is
/// full: as a search does that never has all scores.
void keep_above_threshold(Rows& rows, std::size_t k) {
  Rows kept;
  kept.reserve(2 * k);
  float threshold = -std::numeric_limits<float>::infinity();
  for (const Scored& one : rows) {
    if (one.score < threshold) continue;
    kept.push_back(one);
    if (kept.size() < 2 * k) continue;
    std::ranges::nth_element(kept, kept.begin() + static_cast<std::ptrdiff_t>(k - 1), is_better);
    kept.resize(k);
    threshold = kept.back().score;
  }
  divide_then_sort(kept, std::min(k, kept.size()));
  std::ranges::copy(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(k), rows.begin());
}

int print_sorts(const std::string& counts, std::size_t k) {
  fmt::print(
      "| scores | k | full sort, us | partial sort, us | divided, then sorted, us | by a "
      "threshold, us |\n"
      "|---|---|---|---|---|---|\n");
  for (const int count : numbers(counts)) {
    if (k == 0 || static_cast<std::size_t>(count) < k) {
      throw Error(ErrorKind::kInvalidArgument, fmt::format("the {} best of {}", k, count));
    }
    Rows scores;
    for (const float score : drawn(static_cast<std::size_t>(count))) {
      scores.push_back({score, static_cast<Index>(scores.size())});
    }
    fmt::print("| {} | {} |", count, k);
    for (const auto way : {sort_all, sort_part, divide_then_sort, keep_above_threshold}) {
      Rows rows;
      fmt::print(" {} |", spread(
                              1e6, [&] { rows = scores; }, [&] { way(rows, k); }));
    }
    fmt::print("\n");
  }
  return 0;
}

// -------------------------------------------------------------------------------- slices

int print_slices(int rows, int columns, const std::string& widths) {
  const std::vector<float> table = drawn(static_cast<std::size_t>(rows) * columns);
  std::vector<float> sums(static_cast<std::size_t>(rows) * rows);
  fmt::print("| rows | columns | a slice | ms | GFLOP/s |\n|---|---|---|---|---|\n");
  for (const int width : numbers(widths)) {
    const auto work = [&] {
      for (int first = 0; first < columns; first += width) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, rows,
                    std::min(width, columns - first), 1.0F, table.data() + first, columns,
                    table.data() + first, columns, first == 0 ? 0.0F : 1.0F, sums.data(), rows);
      }
    };
    const std::string text = spread(
        1e3, [] {}, work);
    fmt::print("| {} | {} | {} | {} | {:.0f} |\n", rows, columns, width, text,
               2e-6 * rows * rows * columns / std::stod(text));
    std::fflush(stdout);
  }
  return 0;
}

// ------------------------------------------------------------------------------- updates

/// `count` rows of y from `first` on are added to c; the first ones replace it.
void add_by_us(const Matrix& y, Index first, Index count, Matrix& c) {
  const auto stride = static_cast<Index>(c.stride());
  kernels::multiply({y.cols(), y.cols(), count, y.row(first), 1, stride, y.row(first), stride,
                     c.row(0), stride, first > 0, true});
}

void add_by_blas(const Matrix& y, Index first, Index count, Matrix& c) {
  const auto stride = static_cast<int>(c.stride());
  if (count == 1) {
    if (first == 0) std::fill_n(c.row(0), Offset{stride} * c.rows(), 0.0F);
    cblas_ssyr(CblasRowMajor, CblasUpper, y.cols(), 1.0F, y.row(first), 1, c.row(0), stride);
  } else {
    cblas_ssyrk(CblasRowMajor, CblasUpper, CblasTrans, y.cols(), count, 1.0F, y.row(first), stride,
                first > 0 ? 1.0F : 0.0F, c.row(0), stride);
  }
}

template <class Add>
[[nodiscard]] std::string in_blocks(const Matrix& y, Index block, Matrix& c, const Add& add) {
  const auto work = [&] {
    for (Index first = 0; first < y.rows(); first += block) {
      add(y, first, std::min(block, y.rows() - first), c);
    }
  };
  return spread(
      1e6, [] {}, work);
}

int print_updates(const std::string& widths, Index interactions, const std::string& blocks) {
  openblas_set_num_threads(1);
  fmt::print(
      "| factors | interactions | a block | our kernel, us | BLAS, us |\n"
      "|---|---|---|---|---|\n");
  for (const int width : numbers(widths)) {
    Matrix y(interactions, width);
    Matrix c(width, width);
    const std::vector<float> values = drawn(static_cast<std::size_t>(interactions) * width);
    for (Index row = 0; row < interactions; ++row) {
      std::copy_n(values.data() + Offset{row} * width, width, y.row(row));
    }
    for (const int block : numbers(blocks)) {
      fmt::print("| {} | {} | {} | {} | {} |\n", width, interactions, block,
                 in_blocks(y, block, c, add_by_us), in_blocks(y, block, c, add_by_blas));
      std::fflush(stdout);
    }
  }
  return 0;
}

int run(const std::vector<std::string>& words) {
  if (words.size() == 3 && words[0] == "sort") return print_sorts(words[1], std::stoul(words[2]));
  if (words.size() == 4 && words[0] == "slices") {
    return print_slices(std::stoi(words[1]), std::stoi(words[2]), words[3]);
  }
  if (words.size() == 4 && words[0] == "updates") {
    return print_updates(words[1], std::stoi(words[2]), words[3]);
  }
  fmt::print(stderr, "bench_select: its file says what it takes\n");
  return 2;
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) { return likewise::run_program(argc, argv, likewise::run); }
