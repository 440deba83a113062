// SPDX-License-Identifier: Apache-2.0
/// Products of tall tables and Gram matrices on a GPU, against float64 loops on the host.
#include <algorithm>

#include "backends/cuda/linalg/dense.h"
#include "tests/backends/cuda/cuda_support.h"

namespace likewise::cuda {
namespace {

using CudaProducts = test::CudaTest;

using namespace test;

// ------------------------------------------------------------------------------- products

struct Product {
  std::vector<float> plain;
  std::vector<__half> half;
  float largest = 0.0F;
};

constexpr float kHalfScale = 64.0F;

Product multiply_on_gpu(const std::vector<float>& a, Index rows, const std::vector<float>& b,
                        Index padded) {
  const auto a_gpu = to_gpu(a);
  const auto b_gpu = to_gpu(b);
  const auto scale = to_gpu(std::vector<float>{kHalfScale});
  auto c = to_gpu(std::vector<float>(a.size(), kNan));
  auto c_half = to_gpu(std::vector<__half>(a.size(), __float2half(kNan)));
  auto largest = to_gpu(std::vector<float>{kNan});
  SplitMatrix split(padded);
  split.set(b_gpu.data(), nullptr);
  multiply_rows(a_gpu.data(), rows, split, c.data(), nullptr);
  multiply_rows_half(a_gpu.data(), rows, split, scale.data(), c_half.data(), nullptr);
  multiply_rows_absmax(a_gpu.data(), rows, split, largest.data(), nullptr);
  return {to_host(c), to_host(c_half), to_host(largest)[0]};
}

/// Two roundings to 22 bits and float32 sums: 2^-21 of the lengths of row and column.
constexpr double kProductError = 1.0 / (1 << 21);

void expect_product(Index rows, Index width) {
  SCOPED_TRACE(testing::Message() << rows << " rows of " << width);
  const Index padded = padded_of(width);
  const std::vector<float> a = random_table(rows, width, 6.0, 11);
  const std::vector<float> b = random_table(padded, width, 6.0, 12);
  const Product product = multiply_on_gpu(a, rows, b, padded);

  std::vector<double> column_length(static_cast<std::size_t>(padded));
  for (Index j = 0; j < padded; ++j) {
    double sum = 0.0;
    for (Index k = 0; k < padded; ++k) sum += std::pow(b[at(k, j, padded)], 2);
    column_length[static_cast<std::size_t>(j)] = std::sqrt(sum);
  }
  double worst = 0.0;
  double worst_half = 0.0;
  float largest = 0.0F;
  std::vector<double> exact(static_cast<std::size_t>(padded));
  for (Index r = 0; r < rows; ++r) {
    std::fill(exact.begin(), exact.end(), 0.0);
    double row_length = 0.0;
    for (Index k = 0; k < padded; ++k) {
      const double x = a[at(r, k, padded)];
      row_length += x * x;
      for (Index j = 0; j < padded; ++j) {
        exact[static_cast<std::size_t>(j)] += x * b[at(k, j, padded)];
      }
    }
    row_length = std::sqrt(row_length);
    for (Index j = 0; j < padded; ++j) {
      const double x = exact[static_cast<std::size_t>(j)];
      const float plain = product.plain[at(r, j, padded)];
      const double half = __half2float(product.half[at(r, j, padded)]);
      const double bound = kProductError * row_length * column_length[static_cast<std::size_t>(j)];
      ASSERT_TRUE(std::isfinite(plain) && std::isfinite(half)) << r << ", " << j;
      if (j >= width) ASSERT_EQ(plain, 0.0F) << r << ", " << j;
      worst = std::max(worst, std::abs(plain - x) / std::max(bound, 1e-300));
      // The nearest half of the scaled float32 result, once rounded more.
      const double half_bound = std::abs(kHalfScale * x) / 2048.0 + 1.0 / (1 << 25);
      worst_half = std::max(
          worst_half, std::abs(half - kHalfScale * x) / (1.001 * half_bound + kHalfScale * bound));
      largest = std::max(largest, std::abs(plain));
    }
  }
  EXPECT_LE(worst, 1.0);
  EXPECT_LE(worst_half, 1.0);
  EXPECT_EQ(product.largest, largest);
}

TEST_F(CudaProducts, MultipliesTablesOfEveryWidth) {
  for (Index width = 16; width <= 160; width += 16) expect_product(333, width);
  for (const Index width : {1, 7, 33, 100, 127, 129, 257}) expect_product(150, width);
  for (const Index width : {384, 560, 1000, 1024}) expect_product(100, width);
}

TEST_F(CudaProducts, MultipliesAnyNumberOfRows) {
  for (const Index rows : {0, 1, 15, 17, 128, 5000}) expect_product(rows, 64);
  for (const Index rows : {0, 1, 15, 17, 193, 5000}) expect_product(rows, 128);
  for (const Index rows : {0, 1, 15, 17, 193, 1000}) expect_product(rows, 200);
}

TEST_F(CudaProducts, ProductsRepeatBitForBit) {
  for (const Index width : {100, 300}) {
    const Index padded = padded_of(width);
    const std::vector<float> a = random_table(20000, width, 1.0, 1);
    const std::vector<float> b = random_table(padded, width, 1.0, 2);
    const Product first = multiply_on_gpu(a, 20000, b, padded);
    const Product second = multiply_on_gpu(a, 20000, b, padded);
    EXPECT_TRUE(same_bits(first.plain, second.plain)) << width;
    EXPECT_TRUE(same_bits(first.half, second.half)) << width;
    EXPECT_EQ(first.largest, second.largest) << width;
  }
}

TEST_F(CudaProducts, ProductsKeepWhatIsNotFinite) {
  std::vector<float> a = random_table(40, 64, 1.0, 1);
  const std::vector<float> b = random_table(64, 64, 1.0, 2);
  a[at(7, 3, 64)] = kNan;
  a[at(21, 60, 64)] = std::numeric_limits<float>::infinity();
  const Product product = multiply_on_gpu(a, 40, b, 64);
  for (Index r = 0; r < 40; ++r) {
    for (Index j = 0; j < 64; ++j) {
      EXPECT_EQ(std::isfinite(product.plain[at(r, j, 64)]), r != 7 && r != 21) << r << ", " << j;
    }
  }
  EXPECT_TRUE(std::isnan(product.largest));
}

// -------------------------------------------------------------------------------- Gram matrices

std::vector<double> gram_on_gpu(const std::vector<float>& y, Index rows, Index padded,
                                const std::vector<float>& weights) {
  const auto y_gpu = to_gpu(y);
  const auto weights_gpu = to_gpu(weights);
  auto gram = to_gpu(std::vector<double>(at(padded, 0, padded), kNan));
  GramSum sum(padded);
  sum.run(y_gpu.data(), rows, weights.empty() ? nullptr : weights_gpu.data(), gram.data(), nullptr);
  return to_host(gram);
}

/// Products to 22 bits, sums of at most 4096 rows in float32.
constexpr double kGramError = 1e-6;

void expect_gram(Index rows, Index width, bool weighted) {
  SCOPED_TRACE(testing::Message() << rows << " rows of " << width
                                  << (weighted ? ", weighted" : ""));
  const Index padded = padded_of(width);
  const std::vector<float> y = random_table(rows, width, 2.0, 21);
  std::vector<float> weights;
  if (weighted) {
    std::mt19937_64 random(22);
    std::exponential_distribution<float> value(100.0F);
    weights.resize(static_cast<std::size_t>(rows));
    for (float& w : weights) w = value(random);
    if (rows > 3) weights[3] = 0.0F;
  }
  const std::vector<double> exact = gram_of(y, rows, padded, weights);
  const std::vector<double> gram = gram_on_gpu(y, rows, padded, weights);
  double worst = 0.0;
  for (Index i = 0; i < padded; ++i) {
    for (Index j = 0; j < padded; ++j) {
      const double x = gram[at(i, j, padded)];
      ASSERT_TRUE(std::isfinite(x)) << i << ", " << j;
      ASSERT_EQ(x, gram[at(j, i, padded)]) << i << ", " << j;
      const double scale = std::sqrt(exact[at(i, i, padded)] * exact[at(j, j, padded)]);
      if (scale == 0.0) ASSERT_EQ(x, 0.0) << i << ", " << j;
      if (scale > 0.0) worst = std::max(worst, std::abs(x - exact[at(i, j, padded)]) / scale);
    }
  }
  EXPECT_LE(worst, kGramError);
}

TEST_F(CudaProducts, SumsGramMatricesOfEveryWidth) {
  for (Index width = 16; width <= 160; width += 16) expect_gram(3000, width, width % 32 == 0);
  for (const Index width : {1, 7, 33, 100, 127, 129, 257}) expect_gram(700, width, true);
  for (const Index width : {384, 560, 1000, 1024}) expect_gram(260, width, false);
}

TEST_F(CudaProducts, SumsAnyNumberOfRows) {
  for (const Index width : {16, 64, 100, 128, 200}) {
    for (const Index rows : {0, 1, 15, 17, 160, 161, 4097}) expect_gram(rows, width, rows % 2 == 0);
  }
  expect_gram(150001, 32, true);
  expect_gram(60001, 128, true);
  expect_gram(200000, 144, false);  // more than one round of partial sums
}

TEST_F(CudaProducts, GramMatricesRepeatBitForBit) {
  for (const Index width : {64, 112, 320}) {
    const std::vector<float> y = random_table(20000, width, 1.0, 5);
    const std::vector<double> first = gram_on_gpu(y, 20000, padded_of(width), {});
    EXPECT_TRUE(same_bits(first, gram_on_gpu(y, 20000, padded_of(width), {}))) << width;
  }
}

}  // namespace
}  // namespace likewise::cuda
