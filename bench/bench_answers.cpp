// SPDX-License-Identifier: Apache-2.0
/// Seconds from a model file's factors to everybody's lists and all items' similar ones, on the
/// CPU: what another front door may be compared with (bench/compare_python.py).
///
///     bench_answers MODEL N THREADS        two numbers: recommend, similar
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <tbb/global_control.h>

#include "core/system/seconds.h"
#include "likewise/model.h"
#include "likewise/recommender.h"

namespace likewise {
namespace {

int run(const char* file, Index n, int threads) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(threads));
  const auto model = std::make_shared<const Model>(load_model(file));
  std::vector<Index> users(static_cast<std::size_t>(model->users.size()));
  std::vector<Index> items(static_cast<std::size_t>(model->items.size()));
  std::iota(users.begin(), users.end(), 0);
  std::iota(items.begin(), items.end(), 0);
  RecommendOptions options;
  options.n = n;
  std::size_t answers = 0;
  const double lists = seconds_of([&] {
    const Recommender recommender(model, open_device("cpu"));
    answers += recommender.recommend(users, options).items.size();
  });
  const double similar = seconds_of([&] {
    const Recommender recommender(model, open_device("cpu"));
    answers += recommender.similar(Side::kItems, items, n, SimilarityMetric::kCosine).items.size();
  });
  fmt::print("{:.4f} {:.4f}\n", lists, similar);
  return answers > 0 ? 0 : 1;
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "bench_answers MODEL N THREADS\n");
    return 2;
  }
  return likewise::run(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
}
