// SPDX-License-Identifier: Apache-2.0
/// Lists of the k best rows for many queries: seconds with the lists on the host, and what the
/// products alone amount to.
///
///     bench_top_k DEVICE QUERIES ITEMS[@CENTRES] FACTORS[,FACTORS...] K[,K...] METRIC [SHAPE]
///
/// Queries and items are independent normal numbers (hellinger: their sizes), which no ordering by
/// length helps with; QUERIES 0: the items themselves. With CENTRES items are points about so many
/// (not for hellinger). With SHAPE, as of `likewise generate`,
/// queries must not get what users of that shape have seen. Rows of a Markdown table: the median of
/// five searches after one, with the least and the most.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/system/seconds.h"
#include "likewise/likewise.h"
#include "normal_rows.h"
#include "program.h"

namespace likewise {
namespace {

constexpr int kRounds = 5;

[[nodiscard]] std::vector<int> numbers(const std::string& text) {
  std::vector<int> all;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) all.push_back(std::stoi(word));
  return all;
}

void print_row(const FactorSearch& search, const MatrixView& queries, const Device& device,
               const std::string& metric, const FactorSearchOptions& options) {
  std::vector<double> seconds;
  for (int round = 0; round <= kRounds; ++round) {
    const double passed = seconds_of([&] { (void)search.top_k(queries, options); });
    if (round > 0) seconds.push_back(passed);
  }
  const double products = 2.0 * queries.rows * search.rows() * search.factors();
  fmt::print("| {} x {} | {} | {} | {} | {} | {} | {} | {:.1f} |\n", queries.rows, search.rows(),
             search.factors(), options.n, metric, options.excluded == nullptr ? "" : "yes",
             device.name(), spread(seconds, 4), products * 1e-12 / median(seconds));
  std::fflush(stdout);
}

int run(const std::vector<std::string>& words) {
  if (words.size() != 6 && words.size() != 7) {
    fmt::print(stderr, "bench_top_k: its file says what it takes\n");
    return 2;
  }
  const Device device = open_device(words[0]);
  const Index query_count = std::stoi(words[1]);
  const Index item_count = std::stoi(words[2]);
  const std::size_t at = words[2].find('@');
  const Index centres = at == std::string::npos ? 0 : std::stoi(words[2].substr(at + 1));
  const auto found = std::ranges::find(kSimilarityMetricNames, words[5]);
  const auto metric =
      static_cast<SimilarityMetric>(found - std::ranges::begin(kSimilarityMetricNames));
  fmt::print(
      "| queries x items | d | k | metric | filtered | device | s | products, TFLOP/s |\n"
      "|---|---|---|---|---|---|---|---|\n");
  CsrMatrix seen;
  if (words.size() == 7) seen = generate(parse_shape(words[6]), 1).by_user;
  const CsrView seen_view = seen.view();
  for (const int factors : numbers(words[3])) {
    const Matrix items = centres > 0 ? rows_about(centres, item_count, factors, 1)
                                     : normal_rows(item_count, factors, metric, 1);
    const Matrix others = normal_rows(query_count, factors, metric, 1'000'003);
    const MatrixView queries = query_count > 0 ? others.view() : items.view();
    std::optional<FactorSearch> search;
    const std::span<const float> no_bias;
    const double making =
        seconds_of([&] { search.emplace(items.view(), no_bias, metric, device); });
    fmt::print(stderr, "made in {:.4f} s\n", making);
    for (const int k : numbers(words[4])) {
      FactorSearchOptions options;
      options.n = k;
      if (words.size() == 7) options.excluded = &seen_view;
      print_row(*search, queries, device, words[5], options);
    }
  }
  return 0;
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) { return likewise::run_program(argc, argv, likewise::run); }
