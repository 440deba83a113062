// SPDX-License-Identifier: Apache-2.0
/// The K nearest rows on a card, in milliseconds, as a Markdown table row for each work.
///
///     bench_neighbourhood_gpu [DEVICE [ROUNDS [WORK...]]]
///     bench_neighbourhood_gpu cuda 5 ml-20m,item,cosine,20 ml-20m,user,pearson,40
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "algorithms/similarity.h"
#include "likewise/neighbourhood.h"
#include "likewise/synthetic.h"

namespace likewise {
namespace {

struct Work {
  std::string shape;
  NeighbourParams params;
};

[[nodiscard]] Work parse_work(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (parts.size() != 4) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("a work is SHAPE,user|item,SIMILARITY,K, not {}", text));
  }
  Work work{parts[0], {}};
  work.params.side = parts[1] == "user" ? Side::kUsers : Side::kItems;
  const auto name = std::ranges::find(kSimilarityNames, parts[2]);
  if (name == std::end(kSimilarityNames)) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("there is no similarity {}", parts[2]));
  }
  work.params.similarity = static_cast<Similarity>(name - std::begin(kSimilarityNames));
  const bool common = work.params.similarity == Similarity::kPearson ||
                      work.params.similarity == Similarity::kPearsonBaseline ||
                      work.params.similarity == Similarity::kMsd;
  work.params.feedback = common ? Feedback::kExplicit : Feedback::kImplicit;
  work.params.neighbours = std::stoi(parts[3]);
  return work;
}

/// Entries that share a column, every pair of rows met from both sides.
[[nodiscard]] double common_entries(const CsrView& rows) {
  std::vector<double> lengths(static_cast<std::size_t>(rows.cols));
  for (Offset e = 0; e < rows.nnz(); ++e) {
    lengths[static_cast<std::size_t>(rows.columns[e])] += 1.0;
  }
  double pairs = 0.0;
  for (const double n : lengths) pairs += n * n;
  return pairs;
}

/// Median and range.
class Times {
 public:
  template <class Body>
  void add(const Body& body) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    all_.push_back(took.count());
  }
  [[nodiscard]] double median() const {
    std::vector<double> sorted = all_;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
  [[nodiscard]] std::string text() const {
    const auto [low, high] = std::ranges::minmax(all_);
    return fmt::format("{:.1f} ({:.1f} - {:.1f})", median(), low, high);
  }

 private:
  std::vector<double> all_;
};

void measure(const Backend& backend, const std::string& text, int rounds) {
  const Work work = parse_work(text);
  const Interactions data = generate(parse_shape(work.shape));
  const CsrView by_user = data.by_user.view();
  Factors baselines;
  if (work.params.similarity == Similarity::kPearsonBaseline) {
    baselines = train_baselines(by_user, work.params);
  }
  const SimilarityProblem problem(by_user, work.params, baselines);
  (void)backend.make_neighbour_search(problem)->find(work.params.neighbours, {});  // wakes it
  Times loading;
  Times first;
  Times again;
  for (int round = 0; round < rounds; ++round) {
    std::unique_ptr<NeighbourSearch> search;
    loading.add([&] { search = backend.make_neighbour_search(problem); });
    first.add([&] { (void)search->find(work.params.neighbours, {}); });
    again.add([&] { (void)search->find(work.params.neighbours, {}); });
  }
  const double pairs = common_entries(problem.rows().weights);
  fmt::print("| {} | {:.3g} | {} | {} | {} | {:.1f} |\n", text, pairs, loading.text(), first.text(),
             again.text(), pairs / again.median() * 1e-6);
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) {
  using namespace likewise;
  try {
    const auto backend = open_backend(argc > 1 ? argv[1] : "cuda");
    const int rounds = argc > 2 ? std::stoi(argv[2]) : 5;
    std::vector<std::string> works(argv + std::min(argc, 3), argv + argc);
    if (works.empty()) works = {"ml-20m,item,cosine,20"};
    fmt::print(
        "{}\n\n| work | common entries | to the device, ms | first search | another | G/s |\n"
        "|---|---|---|---|---|---|\n",
        backend->description());
    for (const std::string& work : works) measure(*backend, work, rounds);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_neighbourhood_gpu: {}\n", error.what());
    return 1;
  }
}
