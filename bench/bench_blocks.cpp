// SPDX-License-Identifier: Apache-2.0
/// How evenly a search for neighbours is shared out, by the order of its rows (Kato and Hosino
/// 2009: order and load of blocks).
///
///     bench_blocks DEVICE SHAPE user|item SIMILARITY K PARTS[,PARTS...]
///
/// A row of a Markdown table for each number of parts: the largest part's additions over their mean
/// where parts are blocks of rows as they come, blocks of rows by falling length, and rows by
/// length that are dealt, by count; then, measured, the parts that DEVICE makes of the search: how
/// long the longest takes over their mean, and all of them one after the other compared to the
/// whole search. Medians of five rounds after one.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/knn/similarity.h"
#include "backends/jobs/device_jobs.h"
#include "core/system/seconds.h"
#include "likewise/likewise.h"
#include "program.h"
#include "retrieval/nearest_rows.h"

namespace likewise {
namespace {

constexpr int kRounds = 5;

[[nodiscard]] double usual_seconds(const std::function<void()>& work) {
  std::vector<double> all;
  for (int round = 0; round <= kRounds; ++round) {
    const double passed = seconds_of(work);
    if (round > 0) all.push_back(passed);
  }
  return median(std::move(all));
}

/// Additions that a row's comparison with all rows takes: an entry of its columns each.
[[nodiscard]] std::vector<double> additions_of(const CsrView& rows) {
  std::vector<double> in_column(static_cast<std::size_t>(rows.cols));
  for (Offset i = 0; i < rows.nnz(); ++i) ++in_column[static_cast<std::size_t>(rows.columns[i])];
  std::vector<double> additions(static_cast<std::size_t>(rows.rows));
  for (Index row = 0; row < rows.rows; ++row) {
    for (const Index column : rows.row_columns(row)) {
      additions[static_cast<std::size_t>(row)] += in_column[static_cast<std::size_t>(column)];
    }
  }
  return additions;
}

/// The largest number over the mean.
[[nodiscard]] double imbalance(const std::vector<double>& parts) {
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  return std::ranges::max(parts) * static_cast<double>(parts.size()) / sum;
}

/// `part_of(at)`: the part of the row that is number `at` in `order`.
template <class PartOf>
[[nodiscard]] double counted(const std::vector<double>& additions, const std::vector<Index>& order,
                             int parts, const PartOf& part_of) {
  std::vector<double> loads(static_cast<std::size_t>(parts));
  for (std::size_t at = 0; at < order.size(); ++at) {
    loads[part_of(at)] += additions[static_cast<std::size_t>(order[at])];
  }
  return imbalance(loads);
}

void print_row(const CsrView& rows, const KnnSearch& search, Index k, int parts, double whole) {
  const std::vector<double> additions = additions_of(rows);
  std::vector<Index> order(static_cast<std::size_t>(rows.rows));
  std::iota(order.begin(), order.end(), 0);
  const std::vector<Index> sorted = by_falling_length(rows);
  const auto count = static_cast<std::size_t>(parts);
  const auto in_blocks = [&](std::size_t at) { return at * count / order.size(); };
  const auto dealt = [&](std::size_t at) { return at % count; };
  std::vector<double> seconds;
  for (int part = 0; part < parts; ++part) {
    seconds.push_back(usual_seconds([&] { (void)search.find_part({part, parts}, k, {}); }));
  }
  const double all = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  fmt::print("| {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.2f} | {:.2f} |\n", parts,
             counted(additions, order, parts, in_blocks),
             counted(additions, sorted, parts, in_blocks), counted(additions, sorted, parts, dealt),
             imbalance(seconds), 1e3 * all / parts, all / whole);
  std::fflush(stdout);
}

int run(const std::vector<std::string>& words) {
  if (words.size() != 6) {
    fmt::print(stderr, "bench_blocks: its file says what it takes\n");
    return 2;
  }
  const CsrMatrix ratings = generate(parse_shape(words[1]), 1).by_user.clone();
  TrainingParams all = default_params(words[2] + "-knn", Feedback::kImplicit);
  set_parameter(all, "similarity", words[3]);
  set_parameter(all, "neighbours", words[4]);
  const auto& params = std::get<KnnParams>(all);
  const Biases none;
  const SimilarityProblem problem(ratings.view(), params, none);
  const Device device = open_device(words[0]);
  const auto search = job<KnnJob>(device).make_search(problem);
  const double whole = usual_seconds([&] { (void)search->find(params.neighbours, {}); });
  const CsrMatrix rows = words[2] == "user" ? ratings.clone() : transpose(ratings.view());
  fmt::print("{}: the whole search takes {:.2f} ms\n\n", device.name(), 1e3 * whole);
  fmt::print(
      "| parts | blocks of rows, counted | of rows by length | rows by length, dealt | parts, "
      "measured | a part, ms | all parts / whole |\n|---|---|---|---|---|---|---|\n");
  std::istringstream counts(words[5]);
  for (std::string parts; std::getline(counts, parts, ',');) {
    print_row(rows.view(), *search, params.neighbours, std::stoi(parts), whole);
  }
  return 0;
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) { return likewise::run_program(argc, argv, likewise::run); }
