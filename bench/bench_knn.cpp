// SPDX-License-Identifier: Apache-2.0
/// The K nearest rows on the CPU: seconds of each stage, and the rate of common entries met.
///
///     bench_knn [SHAPE [user|item [SIMILARITY [K [THREADS [ROUNDS]]]]]]
///     bench_knn ml-20m item cosine 20 2 3
#include <algorithm>
#include <chrono>
#include <string>
#include <sys/resource.h>

#include <fmt/format.h>

#include "algorithms/bias/bias.h"
#include "algorithms/knn/similarity.h"
#include "backends/cpu/knn/dense_pairs.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/knn.h"
#include "likewise/synthetic.h"

namespace likewise {
namespace {

struct Lap {
  double wall = 0.0;
  double processor = 0.0;  ///< of all threads: what a busy machine disturbs least
};

class Watch {
 public:
  /// Seconds since the last lap.
  Lap lap() {
    const Lap now = read();
    const Lap lap{now.wall - last_.wall, now.processor - last_.processor};
    last_ = now;
    return lap;
  }

 private:
  static Lap read() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return {std::chrono::duration<double>(now).count(),
            seconds(usage.ru_utime) + seconds(usage.ru_stime)};
  }
  Lap last_ = read();
};

[[nodiscard]] double peak_mebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void measure(const Interactions& data, const KnnParams& params, int rounds) {
  const CsrView by_user = data.by_user.view();
  const auto device = open_device("cpu");
  for (int round = 0; round < rounds; ++round) {
    Watch watch;
    const Biases biases = params.similarity == Similarity::kPearsonBaseline
                              ? train_biases(by_user, params.bias_params())
                              : Biases{};
    const Lap levels = watch.lap();
    const SimilarityProblem problem(by_user, params, biases);
    const Lap weights = watch.lap();
    const auto search = job<KnnJob>(device).make_search(problem);
    const Lap sorting = watch.lap();
    const KnnLists lists = search->find(params.neighbours, {});
    const Lap finding = watch.lap();
    double wall = 0.0;
    for (const auto& [stage, lap] : {std::pair("baselines", levels), std::pair("weights", weights),
                                     std::pair("prepare", sorting), std::pair("search", finding)}) {
      fmt::print("{} {:.3g} s ({:.3g} s of processors), ", stage, lap.wall, lap.processor);
      wall += lap.wall;
    }
    fmt::print("all {:.3g} s; {} neighbours\n", wall, lists.rows.size());
    if (round == 0) {
      const double peak = peak_mebibytes();
      const double pairs = DensePairs<float>::cost(problem.rows().weights, 1).common;
      fmt::print("{:.3g} common entries, {:.2f} ns of a processor each; peak {:.0f} MiB\n", pairs,
                 finding.processor / pairs * 1e9, peak);
    }
  }
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) {
  using namespace likewise;
  const auto argument = [&](int at, const char* usual) {
    return std::string(at < argc ? argv[at] : usual);
  };
  SyntheticShape shape = parse_shape(argument(1, "ml-20m"));
  KnnParams params;
  params.side = argument(2, "item") == "user" ? Side::kUsers : Side::kItems;
  const auto name = std::ranges::find(kSimilarityNames, argument(3, "cosine"));
  params.similarity = static_cast<Similarity>(name - std::begin(kSimilarityNames));
  const bool common = params.similarity == Similarity::kPearson ||
                      params.similarity == Similarity::kPearsonBaseline ||
                      params.similarity == Similarity::kMsd;
  params.feedback = common ? Feedback::kExplicit : Feedback::kImplicit;
  params.neighbours = std::stoi(argument(4, "20"));
  const Interactions data = generate(shape);
  with_threads(std::stoi(argument(5, "2")),
               [&] { measure(data, params, std::stoi(argument(6, "3"))); });
}
