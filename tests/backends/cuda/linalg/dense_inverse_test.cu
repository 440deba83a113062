// SPDX-License-Identifier: Apache-2.0
/// The inverse of large matrices on a GPU, against float64 loops on the host.
#include <algorithm>
#include <cmath>
#include <string>

#include "backends/cuda/linalg/dense_inverse.h"
#include "backends/cuda/linalg/sweep_panels.h"
#include "tests/backends/cuda/cuda_support.h"

namespace likewise::cuda {
namespace {

using namespace test;

class CudaInverse : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (!IsSkipped() && !cublas_problem().empty()) GTEST_SKIP() << cublas_problem();
  }
};

/// Cosines of random columns with a ridge, in the upper triangle; NaN below it.
std::vector<float> cosines(Index n, double ridge, std::uint64_t seed) {
  const std::vector<float> table = random_table(n, n, 1.0, seed);
  const Index padded = padded_of(n);
  const std::vector<double> gram = gram_of(table, n, padded, {});
  std::vector<float> a(at(n, 0, n), kNan);
  for (Index i = 0; i < n; ++i) {
    for (Index j = i; j < n; ++j) {
      const double lengths =
          std::sqrt(gram[at(i, i, padded)]) * std::sqrt(gram[at(j, j, padded)]) * (1.0 + ridge);
      a[at(i, j, n)] = i == j ? 1.0F : static_cast<float>(gram[at(i, j, padded)] / lengths);
    }
  }
  return a;
}

/// -A^-1 by sweeps of one row each.
std::vector<double> swept(const std::vector<float>& upper, Index n) {
  std::vector<double> a(upper.size());
  for (Index i = 0; i < n; ++i) {
    for (Index j = i; j < n; ++j) a[at(i, j, n)] = a[at(j, i, n)] = upper[at(i, j, n)];
  }
  for (Index k = 0; k < n; ++k) {
    const double pivot = a[at(k, k, n)];
    for (Index i = 0; i < n; ++i) {
      const double share = a[at(i, k, n)] / pivot;
      for (Index j = 0; j < n && i != k; ++j) {
        if (j != k) a[at(i, j, n)] -= share * a[at(k, j, n)];
      }
    }
    for (Index j = 0; j < n; ++j) {
      if (j != k) a[at(k, j, n)] = a[at(j, k, n)] = a[at(k, j, n)] / pivot;
    }
    a[at(k, k, n)] = -1.0 / pivot;
  }
  return a;
}

/// In place; returns what run() returns.
Index invert(std::vector<float>& a, Index n, Index block) {
  DeviceArray<float> on_gpu = to_gpu(a);
  DenseInverse inverse(n, block);
  Index reached = 0;
  const Index bad = inverse.run(on_gpu.data(), [&](Index rows) { reached = rows; });
  EXPECT_TRUE(bad >= 0 || reached == n);
  a = to_host(on_gpu);
  return bad;
}

TEST_F(CudaInverse, EqualsSweepsInFloat64) {
  for (const auto& [n, block] : {std::pair<Index, Index>{16, 1024},
                                 {64, 64},
                                 {80, 64},
                                 {208, 64},
                                 {272, 96},
                                 {400, 128},
                                 {544, 32}}) {
    SCOPED_TRACE(testing::Message() << n << " rows in blocks of " << block);
    std::vector<float> a = cosines(n, 0.1, 7);
    const std::vector<double> expected = swept(a, n);
    ASSERT_EQ(invert(a, n, block), -1);
    double worst = 0.0;
    for (Index i = 0; i < n; ++i) {
      for (Index j = i; j < n; ++j) {
        const double length = std::sqrt(expected[at(i, i, n)] * expected[at(j, j, n)]);
        const double error = std::abs(double{a[at(i, j, n)]} - expected[at(i, j, n)]);
        worst = std::isfinite(error) ? std::max(worst, error / length) : kNan;
      }
    }
    RecordProperty("worst-" + std::to_string(n), std::to_string(worst * 1e6));
    // Condition numbers of about a hundred.
    EXPECT_LT(worst, 3e-5);
  }
}

TEST_F(CudaInverse, NamesARowWithoutAPivot) {
  for (const Index bad : {0, 63, 64, 150}) {
    std::vector<float> a = cosines(160, 0.5, 3);
    for (Index j = 0; j < 160; ++j) a[at(std::min(bad, j), std::max(bad, j), 160)] = 0.0F;
    EXPECT_EQ(invert(a, 160, 64), bad);
  }
}

TEST_F(CudaInverse, TwinsHaveNoPivot) {
  std::vector<float> a = cosines(160, 0.0, 3);
  for (Index j = 0; j < 160; ++j) {  // row 150 is row 10
    const auto same = a[at(std::min(10, j), std::max(10, j), 160)];
    if (j != 150) a[at(std::min(150, j), std::max(150, j), 160)] = j == 10 ? 1.0F : same;
  }
  EXPECT_GE(invert(a, 160, 64), 128);
}

TEST_F(CudaInverse, RowsArePutWhereTheyWereGathered) {
  constexpr Index kOrder = 112;
  std::vector<float> a(at(kOrder, 0, kOrder));
  for (Index i = 0; i < kOrder; ++i) {
    for (Index j = 0; j < kOrder; ++j) a[at(i, j, kOrder)] = static_cast<float>(1000 * i + j);
  }
  for (const auto& [first, count] : {std::pair<Index, Index>{0, 32}, {32, 64}, {96, 16}}) {
    DeviceArray<float> on_gpu = to_gpu(a);
    DeviceArray<float> panel(at(count, 0, kOrder));
    DeviceArray<double> square(at(count, 0, count));
    const SymmetricRows rows{on_gpu.data(), kOrder, first, count};
    gather_rows(rows, panel.data(), square.data(), nullptr);
    const std::vector<float> found = to_host(panel);
    const std::vector<double> own = to_host(square);
    std::vector<float> back(own.size());
    for (Index r = 0; r < count; ++r) {
      for (Index j = 0; j < kOrder; ++j) {
        const Index i = first + r;
        const float value = a[at(std::min(i, j), std::max(i, j), kOrder)];
        const bool inner = j >= first && j < first + count;
        ASSERT_EQ(found[at(r, j, kOrder)], inner ? 0.0F : value) << r << ", " << j;
        if (!inner) continue;
        ASSERT_EQ(own[at(r, j - first, count)], double{value});
        back[at(r, j - first, count)] = -value;
      }
    }
    put_rows(rows, panel.data(), to_gpu(back).data(), nullptr);
    const std::vector<float> put = to_host(on_gpu);
    for (Index i = 0; i < kOrder; ++i) {
      for (Index j = i; j < kOrder; ++j) ASSERT_EQ(put[at(i, j, kOrder)], a[at(i, j, kOrder)]);
    }
  }
}

}  // namespace
}  // namespace likewise::cuda
