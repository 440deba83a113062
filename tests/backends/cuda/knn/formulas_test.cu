// SPDX-License-Identifier: Apache-2.0
/// The formulas that stand once for host and GPU (pair_formula.h, cell_weights.h) have the same
/// bits on both.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "algorithms/als/cell_weights.h"
#include "algorithms/knn/pair_formula.h"
#include "tests/backends/cuda/cuda_support.h"

namespace likewise::cuda {
namespace {

using CudaFormulas = test::CudaTest;

using namespace test;

struct PlainRow {
  RowStats stats;
  double damped = 0.0;
  [[nodiscard]] LIKEWISE_HOST_DEVICE double norm() const { return stats.norm; }
  [[nodiscard]] LIKEWISE_HOST_DEVICE double count() const { return stats.count; }
  [[nodiscard]] LIKEWISE_HOST_DEVICE double damped_count() const { return damped; }
  [[nodiscard]] LIKEWISE_HOST_DEVICE double noise() const { return stats.noise; }
};

struct Pair {
  RowStats x;
  PlainRow y;
  PairSums sums;
};

__global__ void similarities(PairNumbers formula, const Pair* pairs, int count, float* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = pair_similarity(formula, pairs[i].x, pairs[i].y, pairs[i].sums);
}

__global__ void weights(CellRule<double> rule, const double* sizes, int count, double* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = observed_weight(rule, sizes[i]);
}

constexpr int kColumns = 500;

/// Two rows over kColumns columns; some with equal values, some that are far apart in size.
Pair random_pair(std::mt19937_64& random, bool of_counts) {
  std::uniform_int_distribution<int> level(1, 5);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  const double share = unit(random);
  const double other_share = unit(random);
  const bool equal = unit(random) < 0.2;
  const auto scale = static_cast<float>(std::pow(10.0, 8.0 * unit(random) - 4.0));
  Pair pair;
  for (int c = 0; c < kColumns; ++c) {
    const float fixed = of_counts ? 1.0F : equal ? 0.1F * scale : 0.0F;
    const double a = fixed > 0.0F ? fixed : static_cast<float>(level(random)) * scale;
    const double b = fixed > 0.0F ? fixed : static_cast<float>(level(random)) * 0.3F;
    const bool in_x = unit(random) < share;
    const bool in_y = unit(random) < other_share;
    if (in_x) pair.x.norm += a * a;
    if (in_x) pair.x.count += 1.0;
    if (in_y) pair.y.stats.norm += b * b;
    if (in_y) pair.y.stats.count += 1.0;
    if (!in_x || !in_y) continue;
    PairSums& s = pair.sums;
    s = {s.n + 1.0, s.x + a, s.y + b, s.xx + a * a, s.yy + b * b, s.xy + a * b};
  }
  pair.x.norm = std::sqrt(pair.x.norm);
  pair.y.stats.norm = std::sqrt(pair.y.stats.norm);
  pair.y.damped = std::pow(pair.y.stats.count, 0.5);
  pair.x.noise = unit(random) * 0.01 * pair.x.norm;
  pair.y.stats.noise = unit(random) * 0.01 * pair.y.stats.norm;
  return pair;
}

TEST_F(CudaFormulas, SimilaritiesHaveTheBitsOfTheHost) {
  std::mt19937_64 random(1);
  std::vector<double> x_log_x(kColumns + 1);
  for (int k = 1; k <= kColumns; ++k) x_log_x[static_cast<std::size_t>(k)] = k * std::log(k);
  const auto table = to_gpu(x_log_x);
  for (int form = 0; form <= static_cast<int>(PairForm::kRp3); ++form) {
    SCOPED_TRACE(form);
    PairNumbers formula;
    formula.form = static_cast<PairForm>(form);
    const bool of_counts = formula.form >= PairForm::kJaccard;
    std::vector<Pair> pairs(4096);
    for (Pair& pair : pairs) pair = random_pair(random, of_counts);
    const auto on_gpu = to_gpu(pairs);
    for (const bool more : {false, true}) {
      formula.common_is_product = of_counts;
      formula.counted = more;
      formula.min_support = more ? 3.0 : 1.0;
      formula.shrinkage = more ? 50.0 : 0.0;
      formula.keep_negative = more;
      formula.cancels = more;
      formula.columns = kColumns;
      PairNumbers there = formula;
      there.x_log_x = table.data();
      formula.x_log_x = x_log_x.data();
      const auto count = static_cast<int>(pairs.size());
      auto found = to_gpu(std::vector<float>(pairs.size(), kNan));
      similarities<<<(count + 255) / 256, 256>>>(there, on_gpu.data(), count, found.data());
      std::vector<float> expected;
      for (const Pair& p : pairs) expected.push_back(pair_similarity(formula, p.x, p.y, p.sums));
      EXPECT_TRUE(same_bits(to_host(found), expected)) << more;
    }
  }
}

TEST_F(CudaFormulas, CellsWeighWhatTheyWeighOnTheHost) {
  std::vector<double> sizes{0.0};
  for (int exponent = -60; exponent <= 60; ++exponent) {
    for (const double part : {1.0, 1.1, 1.9}) sizes.push_back(std::ldexp(part, exponent));
  }
  const auto on_gpu = to_gpu(sizes);
  const auto count = static_cast<int>(sizes.size());
  for (const CellForm form :
       {CellForm::kLinear, CellForm::kLog, CellForm::kGiven, CellForm::kUnobserved}) {
    const CellRule<double> rule{form, 7.3, 0.3};
    auto found = to_gpu(std::vector<double>(sizes.size()));
    weights<<<(count + 255) / 256, 256>>>(rule, on_gpu.data(), count, found.data());
    const std::vector<double> w = to_host(found);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const double expected = observed_weight(rule, sizes[i]);
      // Two libraries' logarithms differ in their last bits; c - 1 may be fused.
      const double size = form == CellForm::kGiven ? expected + 1.0 : expected;
      const bool rounded = form == CellForm::kLog || form == CellForm::kGiven;
      EXPECT_NEAR(w[i], expected, rounded ? 1e-15 * size : 0.0) << sizes[i];
    }
  }
}

}  // namespace
}  // namespace likewise::cuda
