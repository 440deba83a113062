// SPDX-License-Identifier: Apache-2.0
/// Every rating of a matrix, in milliseconds by stage, as a Markdown table row for each work.
///
///     bench_predictions [DEVICE [ROUNDS [WORK...]]]
///     bench_predictions cuda 5 ml-1m.csv.gz,item,cosine,rated ml-20m,factors,64
///
/// A work is RATINGS,user|item,SIMILARITY,rated|kept|all or RATINGS,factors,N; RATINGS is a file or
/// a shape of the generator. "made": the model's tables on the device; "similarities" and
/// "ratings": of all rows, which arrive in ordinary memory; "pairs": a million of them.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "algorithms/bias/bias.h"
#include "algorithms/knn/knn_prediction.h"
#include "algorithms/knn/similarity.h"
#include "backends/jobs/device_jobs.h"
#include "core/system/seconds.h"
#include "likewise/knn.h"
#include "likewise/read.h"
#include "likewise/synthetic.h"
#include "program.h"

namespace likewise {
namespace {

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("a work is RATINGS,user|item,SIMILARITY,rated|kept|all or "
                          "RATINGS,factors,N, not {}",
                          text));
}

[[nodiscard]] std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <class Names>
[[nodiscard]] std::size_t place_of(const Names& names, const std::string& name,
                                   const std::string& work) {
  const auto found = std::ranges::find(names, name);
  if (found == std::end(names)) refuse(work);
  return static_cast<std::size_t>(found - std::begin(names));
}

[[nodiscard]] CsrMatrix ratings_of(const std::string& name) {
  if (!std::filesystem::exists(name)) return generate(parse_shape(name)).by_user.clone();
  ReadOptions options;
  options.values = Values::kRequired;
  return read_interactions(name, options).by_user.clone();
}

/// Median and range.
class Times {
 public:
  void add(double seconds) { all_.push_back(1e3 * seconds); }
  [[nodiscard]] std::string text() const { return spread(all_, 2); }

 private:
  std::vector<double> all_;
};

/// `make` makes the predictions of a matrix rows x columns.
template <class Make>
void measure(const std::string& work, Index rows, Index columns, int rounds, const Make& make) {
  constexpr Offset kNumbers = Offset{1} << 22;  // as predict --all-missing asks for them
  constexpr std::size_t kPairs = 1'000'000;
  const auto block = static_cast<Index>(std::clamp<Offset>(kNumbers / columns, 1, 1024));
  std::vector<float> out(static_cast<std::size_t>(Offset{block} * columns));
  std::mt19937_64 random(1);
  std::vector<Index> pair_rows(kPairs);
  std::vector<Index> pair_columns(kPairs);
  for (std::size_t p = 0; p < kPairs; ++p) {
    pair_rows[p] = static_cast<Index>(random() % static_cast<std::uint64_t>(rows));
    pair_columns[p] = static_cast<Index>(random() % static_cast<std::uint64_t>(columns));
  }
  std::vector<float> pairs(kPairs);
  Times made;
  Times similar;
  Times rated;
  Times paired;
  Offset bytes = 0;
  for (int round = -1; round < rounds; ++round) {  // the first wakes the device
    std::unique_ptr<Predictions> predictions;
    const double making = seconds_of([&] { predictions = make(); });
    double similarities = 0.0;
    const double all = seconds_of([&] {
      for (Index first = 0; first < rows; first += block) {
        std::vector<Index> some(static_cast<std::size_t>(std::min(block, rows - first)));
        std::iota(some.begin(), some.end(), first);
        similarities += predictions->of_rows(some, out.data());
      }
    });
    const double asking =
        seconds_of([&] { predictions->of_pairs(pair_rows, pair_columns, pairs.data(), {}); });
    bytes = predictions->memory().total;
    if (round < 0) continue;
    made.add(making);
    similar.add(similarities);
    rated.add(all - similarities);
    paired.add(asking);
  }
  fmt::print("| {} | {} x {} | {} | {} | {} | {} | {} |\n", work, rows, columns, made.text(),
             similar.text(), rated.text(), paired.text(), bytes >> 20);
}

void measure_factors(const Device& device, const std::string& work, const CsrMatrix& ratings,
                     Index columns, int rounds) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  Factors factors{Matrix(ratings.rows, columns), Matrix(ratings.cols, columns),
                  Array<float>(ratings.rows), Array<float>(ratings.cols), 3.5F};
  for (Matrix* side : {&factors.users, &factors.items}) {
    for (Index r = 0; r < side->rows(); ++r) {
      for (Index j = 0; j < columns; ++j) side->row(r)[j] = normal(random);
    }
  }
  measure(work, ratings.rows, ratings.cols, rounds,
          [&] { return job<PredictionJob>(device).by_factors(factors); });
}

void measure_knn(const Device& device, const std::string& work,
                 const std::vector<std::string>& parts, const CsrMatrix& ratings, int rounds) {
  constexpr std::string_view kFrom[] = {"rated", "kept", "all"};
  KnnParams params = KnnParams::defaults(Feedback::kExplicit);
  params.side = parts[1] == "user" ? Side::kUsers : Side::kItems;
  params.similarity = static_cast<Similarity>(place_of(kSimilarityNames, parts[2], work));
  params.predict_from = static_cast<PredictFrom>(place_of(kFrom, parts[3], work));
  params.prediction = Prediction::kCentred;
  const CsrView by_user = ratings.view();
  const bool kept = params.predict_from == PredictFrom::kKept;
  Knn learned;
  if (kept) learned = train_knn(by_user, params, device);
  if (params.needs_biases()) {
    learned.biases = train_biases(by_user, params.bias_params());
  }
  const SimilarityProblem problem(by_user, params, learned.biases);
  const KnnRatings numbers(by_user, params, learned.biases);
  std::unique_ptr<KnnSearch> search;
  const KnnModel model{problem, numbers, kept ? &learned.neighbours : nullptr,
                       [&]() -> const KnnSearch& {
                         if (!search) search = job<KnnJob>(device).make_search(problem);
                         return *search;
                       }};
  const bool by_item = params.side == Side::kItems;
  measure(work, by_item ? by_user.cols : by_user.rows, by_item ? by_user.rows : by_user.cols,
          rounds, [&] {
            search.reset();
            return job<PredictionJob>(device).by_knn(model);
          });
}

void measure_work(const Device& device, const std::string& work, int rounds) {
  const std::vector<std::string> parts = split(work);
  const bool factors = parts.size() == 3 && parts[1] == "factors";
  const bool neighbours = parts.size() == 4 && (parts[1] == "user" || parts[1] == "item");
  if (!factors && !neighbours) refuse(work);
  const CsrMatrix ratings = ratings_of(parts[0]);
  if (factors) {
    measure_factors(device, work, ratings, std::stoi(parts[2]), rounds);
  } else {
    measure_knn(device, work, parts, ratings, rounds);
  }
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) {
  using namespace likewise;
  const auto begin = [](const Device& device) {
    fmt::print(
        "{}\n\n| work | rows x columns | made, ms | similarities | ratings | a million pairs | "
        "device, MiB |\n|---|---|---|---|---|---|---|\n",
        device_text(device));
  };
  return run_works(argc, argv, "auto",
                   {"6040x3706x1000209,item,cosine,rated", "6040x3706x1000209,factors,64"}, begin,
                   measure_work);
}
