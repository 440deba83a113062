// SPDX-License-Identifier: Apache-2.0
/// The K nearest rows on a GPU, in milliseconds, as a Markdown table row for each work.
///
///     bench_knn_gpu [DEVICE [ROUNDS [WORK...]]]
///     bench_knn_gpu cuda 5 ml-20m,item,cosine,20 full:4800x3200,user,pearson-full,20
///
/// A work is SHAPE,user|item,SIMILARITY,K; the shape full:USERSxITEMS has a rating in every cell.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "algorithms/bias/bias.h"
#include "algorithms/knn/similarity.h"
#include "backends/jobs/device_jobs.h"
#include "core/system/seconds.h"
#include "likewise/knn.h"
#include "likewise/synthetic.h"
#include "program.h"

namespace likewise {
namespace {

struct Work {
  std::string shape;
  KnnParams params;
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

/// Ratings from 1 to 5 of that shape, or of one of the generator's.
[[nodiscard]] CsrMatrix make_ratings(const std::string& shape) {
  constexpr std::string_view kFull = "full:";
  if (!shape.starts_with(kFull)) return generate(parse_shape(shape)).by_user.clone();
  const std::size_t times = shape.find('x');
  CsrMatrix full;
  full.rows = std::stoi(shape.substr(kFull.size()));
  full.cols = std::stoi(shape.substr(times + 1));
  full.offsets = Array<Offset>(Offset{full.rows} + 1);
  full.columns = Array<Index>(Offset{full.rows} * full.cols);
  full.values = Array<float>(full.columns.size());
  std::mt19937_64 random(1);
  for (Index r = 0; r < full.rows; ++r) {
    for (Index c = 0; c < full.cols; ++c) {
      full.columns[Offset{r} * full.cols + c] = c;
      full.values[Offset{r} * full.cols + c] = static_cast<float>(random() % 5 + 1);
    }
    full.offsets[r + 1] = full.offsets[r] + full.cols;
  }
  return full;
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
    all_.push_back(1e3 * seconds_of(body));
  }
  [[nodiscard]] double middle() const { return median(all_); }
  [[nodiscard]] std::string text() const { return spread(all_, 2); }

 private:
  std::vector<double> all_;
};

void measure(const Device& device, const std::string& text, int rounds) {
  const Work work = parse_work(text);
  const CsrMatrix ratings = make_ratings(work.shape);
  const CsrView by_user = ratings.view();
  Biases biases;
  if (work.params.similarity == Similarity::kPearsonBaseline) {
    biases = train_biases(by_user, work.params.bias_params());
  }
  const SimilarityProblem problem(by_user, work.params, biases);
  (void)job<KnnJob>(device).make_search(problem)->find(work.params.neighbours, {});  // wakes it
  Times loading;
  Times first;
  Times again;
  for (int round = 0; round < rounds; ++round) {
    std::unique_ptr<KnnSearch> search;
    loading.add([&] { search = job<KnnJob>(device).make_search(problem); });
    first.add([&] { (void)search->find(work.params.neighbours, {}); });
    again.add([&] { (void)search->find(work.params.neighbours, {}); });
  }
  const double pairs = common_entries(problem.rows().weights);
  fmt::print("| {} | {:.3g} | {} | {} | {} | {:.0f} |\n", text, pairs, loading.text(), first.text(),
             again.text(), pairs / again.middle() * 1e-6);
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) {
  using namespace likewise;
  const auto begin = [](const Device& device) {
    fmt::print(
        "{}\n\n| work | common entries | to the device, ms | first search | another | G/s |\n"
        "|---|---|---|---|---|---|\n",
        device.description());
  };
  return run_works(argc, argv, "cuda", {"ml-20m,item,cosine,20"}, begin, measure);
}
