// SPDX-License-Identifier: Apache-2.0
/// Work that several GPUs share, on the first of them and on all together, in turns, as a row of a
/// Markdown table each. bench_als_gpu has ALS.
///
///     bench_ranks_gpu GPU,GPU[,...] WORK...
///
/// A work is
///     sgd:DATA:ORDER:FACTORS        an epoch; DATA is a shape of `likewise generate`
///     lists:ROWS:FACTORS:K:METRIC   the k nearest of all rows, which are normal numbers
///     (hellinger: their sizes) lists:ROWS:FACTORS:K:METRIC:QUERIES   of so many other rows
///     neighbours:SHAPE:user|item:SIMILARITY:K   a search, with the matrix on the GPUs already
///
/// Median and range of seven rounds after two. Whether all GPUs gave the bits of one is looked at
/// in every work.
#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "algorithms/knn/similarity.h"
#include "algorithms/sgd/setup.h"
#include "backends/cuda/host/load_plugin.h"
#include "backends/jobs/device_jobs.h"
#include "core/system/seconds.h"
#include "likewise/likewise.h"
#include "normal_rows.h"
#include "program.h"

namespace likewise {
namespace {

constexpr int kWarmUp = 2;
constexpr int kRounds = 7;

struct Gpus {
  Device one;
  Device all;
  int count = 0;
};

/// Seconds of each round.
struct Times {
  std::vector<double> one;
  std::vector<double> all;

  void take(const std::function<void()>& on_one, const std::function<void()>& on_all) {
    for (int round = 0; round < kWarmUp + kRounds; ++round) {
      const double first = seconds_of(on_one);
      const double second = seconds_of(on_all);
      if (round < kWarmUp) continue;
      one.push_back(first);
      all.push_back(second);
    }
  }
};

[[nodiscard]] std::string spread_ms(const std::vector<double>& seconds) {
  return spread(seconds, 2, 1e3);
}

void print_row(const std::string& work, const Gpus& gpus, const Times& times, bool same,
               const RankTraffic* traffic) {
  std::string moved = "| ";
  if (traffic != nullptr) {
    const double rounds = kWarmUp + kRounds;
    moved = fmt::format(
        "{:.1f} | {}", static_cast<double>(traffic->bytes) / rounds * 1e-6,
        traffic->seconds > 0 ? fmt::format("{:.2f}", 1e3 * traffic->seconds / rounds) : "");
  }
  fmt::print("| {} | {} | {} | {} | {:.2f} | {} | {} |\n", work, gpus.count, spread_ms(times.one),
             spread_ms(times.all), median(times.one) / median(times.all), same ? "yes" : "NO",
             moved);
  std::fflush(stdout);
}

template <class T>
[[nodiscard]] bool same_bits(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}
template <class Values>
[[nodiscard]] bool same_bits(const Values& a, const Values& b) {
  return same_bits(std::span(std::as_const(a)), std::span(std::as_const(b)));
}

[[nodiscard]] bool same_factors(const Factors& a, const Factors& b) {
  bool same = true;
  for (const Side side : {Side::kUsers, Side::kItems}) {
    for (Index row = 0; row < a.side(side).rows(); ++row) {
      same = same && std::ranges::equal(a.side(side).row_span(row), b.side(side).row_span(row));
    }
    same = same && std::ranges::equal(a.bias(side), b.bias(side));
  }
  return same;
}

using Words = std::vector<std::string>;

void measure_sgd(const std::string& work, const Words& words, const Gpus& gpus) {
  const Interactions data = generate(parse_shape(words[1] + ":explicit"), 1);
  const CsrView m = data.by_user.view();
  TrainingParams all = default_params("sgd", Feedback::kExplicit);
  set_parameter(all, "order", words[2]);
  set_parameter(all, "factors", words[3]);
  const auto& params = std::get<SgdParams>(all);
  const Factors start = first_sgd_factors(m, params);
  const auto one = job<SgdJob>(gpus.one).make_solver(m, params, start.clone());
  const auto many = job<SgdJob>(gpus.all).make_solver(m, params, start.clone());
  Times times;
  int epoch_of_one = 0;
  int epoch_of_all = 0;
  times.take([&] { (void)one->epoch(++epoch_of_one, params.learning_rate, {}); },
             [&] { (void)many->epoch(++epoch_of_all, params.learning_rate, {}); });
  print_row(work, gpus, times, same_factors(one->factors(), many->factors()),
            load_cuda_plugin().sgd->traffic(*many));
}

void measure_lists(const std::string& work, const Words& words, const Gpus& gpus) {
  const Index cols = std::stoi(words[2]);
  const auto found = std::ranges::find(kSimilarityMetricNames, words[4]);
  const auto metric =
      static_cast<SimilarityMetric>(found - std::ranges::begin(kSimilarityMetricNames));
  const Matrix rows = normal_rows(std::stoi(words[1]), cols, metric, 1);
  const Matrix others =
      normal_rows(words.size() > 5 ? std::stoi(words[5]) : 0, cols, metric, 1U << 30);
  const MatrixView queries = words.size() > 5 ? others.view() : rows.view();
  FactorSearchOptions options;
  options.n = std::stoi(words[3]);
  const FactorSearch one(rows.view(), {}, metric, gpus.one);
  const FactorSearch many(rows.view(), {}, metric, gpus.all);
  TopKResult of_one;
  TopKResult of_all;
  Times times;
  times.take([&] { of_one = one.top_k(queries, options); },
             [&] { of_all = many.top_k(queries, options); });
  print_row(work, gpus, times,
            same_bits(of_one.items, of_all.items) && same_bits(of_one.scores, of_all.scores),
            nullptr);
}

/// How long each part takes a GPU that has nothing else to do: what is left of the whole is waits,
/// and the merge of lists.
void tell_parts(const std::string& work, const KnnSearch& search, Index k, int count) {
  for (int number = 0; number < count; ++number) {
    Times part;
    part.take([&] { (void)search.find_part({number, count}, k, {}); }, [] {});
    fmt::print(stderr, "{}, part {} of {} alone: {} ms\n", work, number + 1, count,
               spread_ms(part.one));
  }
}

void measure_knn(const std::string& work, const Words& words, const Gpus& gpus) {
  const CsrMatrix ratings = generate(parse_shape(words[1])).by_user.clone();
  TrainingParams all = default_params(words[2] + "-knn", Feedback::kImplicit);
  set_parameter(all, "similarity", words[3]);
  set_parameter(all, "neighbours", words[4]);
  const auto& params = std::get<KnnParams>(all);
  const Biases none;
  const SimilarityProblem problem(ratings.view(), params, none);
  const auto one = job<KnnJob>(gpus.one).make_search(problem);
  const auto many = job<KnnJob>(gpus.all).make_search(problem);
  KnnLists of_one;
  KnnLists of_all;
  Times times;
  times.take([&] { of_one = one->find(params.neighbours, {}); },
             [&] { of_all = many->find(params.neighbours, {}); });
  tell_parts(work, *one, params.neighbours, gpus.count);
  print_row(
      work, gpus, times,
      same_bits(of_one.rows, of_all.rows) && same_bits(of_one.similarities, of_all.similarities),
      nullptr);
}

[[nodiscard]] Words split_words(const std::string& text) {
  Words words;
  std::istringstream parts(text);
  for (std::string word; std::getline(parts, word, ':');) words.push_back(word);
  return words;
}

void measure(const std::string& work, const Gpus& gpus) {
  const Words words = split_words(work);
  if (words.size() == 4 && words[0] == "sgd") return measure_sgd(work, words, gpus);
  if ((words.size() == 5 || words.size() == 6) && words[0] == "lists") {
    return measure_lists(work, words, gpus);
  }
  if (words.size() == 5 && words[0] == "neighbours") return measure_knn(work, words, gpus);
  throw Error(ErrorKind::kInvalidArgument, "it is no work; this program's file says what is");
}

int run(const Words& words) {
  if (words.size() < 2 || words[0].find(',') == std::string::npos) {
    fmt::print(stderr, "bench_ranks_gpu: its file says what it takes\n");
    return 2;
  }
  const std::string first = words[0].substr(0, words[0].find(','));
  const Gpus gpus{open_device("cuda:" + first), open_device("cuda:" + words[0]),
                  static_cast<int>(std::ranges::count(words[0], ',')) + 1};
  fmt::print(
      "| work | GPUs | one GPU, ms | all, ms | times as fast | same bits | a GPU receives, MB | "
      "underway, ms |\n|---|---|---|---|---|---|---|---|\n");
  bool good = true;
  for (std::size_t at = 1; at < words.size(); ++at) {
    try {
      measure(words[at], gpus);
    } catch (const Error& error) {
      fmt::print(stderr, "bench_ranks_gpu: {}: {}\n", words[at], error.what());
      good = false;
    }
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) { return likewise::run_program(argc, argv, likewise::run); }
