// SPDX-License-Identifier: Apache-2.0
/// The basis of a half-step on a GPU, against float64 loops on the host.
#include <algorithm>

#include "backends/cuda/linalg/dense.h"
#include "likewise/error.h"
#include "tests/backends/cuda/cuda_support.h"

namespace likewise::cuda {
namespace {

void check(BasisBuilder& builder) {
  builder.fetch_status(nullptr);
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(nullptr));
  builder.check();
}

using CudaBases = test::CudaTest;

using namespace test;

struct HostBasis {
  explicit HostBasis(const Basis& basis) {
    const std::vector<float> all = to_host(basis.numbers());
    const Index padded = basis.padded();
    auto next = all.begin();
    const auto take = [&](std::vector<float>& to, std::size_t count) {
      to.assign(next, next + static_cast<std::ptrdiff_t>(count));
      next += static_cast<std::ptrdiff_t>(count);
    };
    take(transform, at(padded, 0, padded));
    take(back, at(padded, 0, padded));
    take(base, at(1, 0, padded));
    take(shrink, at(1, 0, padded));
  }
  std::vector<float> transform;
  std::vector<float> back;
  std::vector<float> base;
  std::vector<float> shrink;
};

void expect_identity_in_padding(const HostBasis& basis, Index width) {
  const Index padded = padded_of(width);
  for (Index i = 0; i < padded; ++i) {
    for (Index j = 0; j < padded; ++j) {
      ASSERT_EQ(basis.back[at(i, j, padded)], basis.transform[at(j, i, padded)]) << i << ", " << j;
      if (i < width && j < width) continue;
      ASSERT_EQ(basis.back[at(i, j, padded)], i == j ? 1.0F : 0.0F) << i << ", " << j;
    }
  }
  for (Index j = width; j < padded; ++j) {
    EXPECT_EQ(basis.base[static_cast<std::size_t>(j)], 1.0F);
    EXPECT_EQ(basis.shrink[static_cast<std::size_t>(j)], 0.0F);
  }
}

/// L^-1 of a = L L^T, lower triangle of an n x n matrix.
std::vector<double> cholesky_inverse(std::vector<double> a, Index n) {
  std::vector<double> inverse(a.size());
  for (Index j = 0; j < n; ++j) {
    for (Index k = 0; k < j; ++k) {
      const double x = a[at(j, k, n)];
      for (Index i = j; i < n; ++i) a[at(i, j, n)] -= x * a[at(i, k, n)];
    }
    const double root = std::sqrt(a[at(j, j, n)]);
    for (Index i = j; i < n; ++i) a[at(i, j, n)] /= root;
  }
  for (Index i = 0; i < n; ++i) {
    double* row = inverse.data() + at(i, 0, n);
    row[i] = 1.0;
    for (Index k = 0; k < i; ++k) {
      const double x = a[at(i, k, n)];
      const double* above = inverse.data() + at(k, 0, n);
      for (Index c = 0; c <= k; ++c) row[c] -= x * above[c];
    }
    for (Index c = 0; c <= i; ++c) row[c] /= a[at(i, i, n)];
  }
  return inverse;
}

constexpr double kWeight = 0.7;

void by_cholesky(BasisBuilder& builder, const double* gram, double weight, double lambda,
                 cudaStream_t stream) {
  builder.start_cholesky(gram, weight, lambda, stream);
  builder.finish_cholesky(gram, weight, lambda, stream);
}

void expect_cholesky(Index width, double lambda) {
  SCOPED_TRACE(testing::Message() << width << " wide, lambda " << lambda);
  const Index padded = padded_of(width);
  const std::vector<double> gram =
      gram_of(random_table(2 * width + 10, width, 0.3, 31), 2 * width + 10, padded, {});
  const auto gram_gpu = to_gpu(gram);
  BasisBuilder builder(width, padded);
  by_cholesky(builder, gram_gpu.data(), kWeight, lambda, nullptr);
  check(builder);
  const HostBasis basis(builder.basis());
  expect_identity_in_padding(basis, width);

  std::vector<double> matrix(at(width, 0, width));
  for (Index i = 0; i < width; ++i) {
    for (Index j = 0; j < width; ++j) {
      matrix[at(i, j, width)] = kWeight * gram[at(i, j, padded)] + (i == j ? lambda : 0.0);
    }
  }
  const std::vector<double> exact = cholesky_inverse(matrix, width);
  for (Index i = 0; i < width; ++i) {
    double length = 0.0;
    for (Index j = 0; j < width; ++j) length += std::pow(exact[at(i, j, width)], 2);
    for (Index j = 0; j < width; ++j) {
      const double x = exact[at(i, j, width)];
      // Computed in float64, rounded once to float32.
      ASSERT_NEAR(basis.back[at(i, j, padded)], x, 6e-8 * std::abs(x) + 1e-10 * std::sqrt(length))
          << i << ", " << j;
    }
    ASSERT_EQ(basis.base[static_cast<std::size_t>(i)], 1.0F);
    ASSERT_EQ(basis.shrink[static_cast<std::size_t>(i)], 0.0F);
  }
}

TEST_F(CudaBases, InvertsCholeskyFactorsOfEveryWidth) {
  for (const Index width : {1, 7, 16, 31, 33, 48, 64, 80, 96, 100, 112, 127, 128}) {
    expect_cholesky(width, 0.01);
  }
  for (const Index width : {129, 144, 200, 256, 257, 400, 512, 1000, 1024}) {
    expect_cholesky(width, 1.0);
  }
}

TEST_F(CudaBases, RefusesWhatIsNotFinite) {
  for (const Index width : {40, 128, 200}) {
    const Index padded = padded_of(width);
    const std::vector<double> good = gram_of(random_table(600, width, 0.0, 1), 600, padded, {});
    std::vector<double> broken = good;
    broken[at(5, 2, padded)] = broken[at(2, 5, padded)] = kNan;
    BasisBuilder builder(width, padded);
    const auto broken_gpu = to_gpu(broken);
    EXPECT_THROW(
        {
          by_cholesky(builder, broken_gpu.data(), 1.0, 0.1, nullptr);
          check(builder);
        },
        Error)
        << width;
    const auto good_gpu = to_gpu(good);
    by_cholesky(builder, good_gpu.data(), 1.0, 0.1, nullptr);
    EXPECT_NO_THROW(check(builder)) << width;
    EXPECT_THROW(
        {
          builder.by_eigenvectors(broken_gpu.data(), 1.0, 0.1, nullptr);
          check(builder);
        },
        Error)
        << width;
    builder.by_eigenvectors(good_gpu.data(), 1.0, 0.1, nullptr);
    EXPECT_NO_THROW(check(builder)) << width;
  }
}

/// With D = 1 / shrink and q_j = sqrt(D_j) times row j of `back`: Q is orthogonal, and Q^T G Q is
/// diagonal with D_j base_j on it.
void expect_eigenbasis(const BasisBuilder& builder, const std::vector<double>& gram, Index width,
                       double weight, double lambda) {
  const Index padded = padded_of(width);
  const HostBasis basis(builder.basis());
  expect_identity_in_padding(basis, width);
  std::vector<double> q(at(width, 0, width));
  std::vector<double> values(static_cast<std::size_t>(width));
  double most = 0.0;
  for (Index j = 0; j < width; ++j) {
    const double d = 1.0 / basis.shrink[static_cast<std::size_t>(j)];
    ASSERT_TRUE(std::isfinite(d) && d > 0.0) << j;
    values[static_cast<std::size_t>(j)] = d * basis.base[static_cast<std::size_t>(j)];
    ASSERT_GE(values[static_cast<std::size_t>(j)], 0.0);
    ASSERT_GE(d, lambda * (1.0 - 1e-6));
    most = std::max(most, values[static_cast<std::size_t>(j)]);
    for (Index k = 0; k < width; ++k) {
      q[at(j, k, width)] = std::sqrt(d) * basis.back[at(j, k, padded)];
    }
  }
  double worst_angle = 0.0;
  double worst_value = 0.0;
  std::vector<double> image(static_cast<std::size_t>(width));
  for (Index i = 0; i < width; ++i) {
    const double* qi = q.data() + at(i, 0, width);
    for (Index k = 0; k < width; ++k) {
      double sum = 0.0;
      for (Index l = 0; l < width; ++l) sum += gram[at(k, l, padded)] * qi[l];
      image[static_cast<std::size_t>(k)] = weight * sum;
    }
    for (Index j = 0; j < width; ++j) {
      const double* qj = q.data() + at(j, 0, width);
      double dot = i == j ? -1.0 : 0.0;
      double value = i == j ? -values[static_cast<std::size_t>(i)] : 0.0;
      for (Index k = 0; k < width; ++k) {
        dot += qi[k] * qj[k];
        value += qj[k] * image[static_cast<std::size_t>(k)];
      }
      worst_angle = std::max(worst_angle, std::abs(dot));
      worst_value = std::max(worst_value, std::abs(value) / std::max(most, 1e-300));
    }
  }
  // The vectors are exact to float32, and what it rounds off them sees the largest eigenvalue.
  EXPECT_LE(worst_angle, 1e-6);
  EXPECT_LE(worst_value, 1e-6);
}

TEST_F(CudaBases, FindsEigenvectorsOfEveryWidth) {
  for (const Index width : {1, 2, 7, 16, 33, 63, 64, 80, 100, 112, 127, 128, 129, 257}) {
    SCOPED_TRACE(testing::Message() << width << " wide");
    const Index padded = padded_of(width);
    const Index rows = 2 * width + 10;
    std::vector<float> y = mixed_table(rows, width, 1.0, 41);
    BasisBuilder builder(width, padded);
    // From nothing, from a similar matrix, from another one altogether.
    for (int round = 0; round < 3; ++round) {
      const std::vector<double> gram = gram_of(y, rows, padded, {});
      const auto gpu = to_gpu(gram);
      builder.by_eigenvectors(gpu.data(), kWeight, 0.01, nullptr);
      check(builder);
      expect_eigenbasis(builder, gram, width, kWeight, 0.01);
      const std::vector<float> other = mixed_table(rows, width, 1.0, 42);
      for (std::size_t i = 0; i < y.size(); ++i)
        y[i] = round == 0 ? y[i] + 0.02F * other[i] : other[i];
    }
  }
}

TEST_F(CudaBases, EigenvectorsOfMatricesWithoutFullRank) {
  for (const Index width : {33, 100, 128, 144}) {
    SCOPED_TRACE(testing::Message() << width << " wide");
    const Index padded = padded_of(width);
    BasisBuilder builder(width, padded);
    for (const Index rows : {0, 1, 20}) {
      const std::vector<double> gram = gram_of(mixed_table(rows, width, 0.0, 51), rows, padded, {});
      const auto gpu = to_gpu(gram);
      for (const double lambda : {0.0, 0.01}) {
        builder.by_eigenvectors(gpu.data(), 1.0, lambda, nullptr);
        check(builder);
        expect_eigenbasis(builder, gram, width, 1.0, lambda);
      }
    }
  }
}

/// Fewer rows than columns, and a lambda that is lost in the rounding of the Gram matrix.
TEST_F(CudaBases, EigenvectorsStandInWhereRoundingOutweighsLambda) {
  constexpr double kLambda = 1e-7;
  for (const Index width : {33, 128, 144}) {
    SCOPED_TRACE(testing::Message() << width << " wide");
    const Index padded = padded_of(width);
    std::vector<double> gram = gram_of(mixed_table(20, width, 0.0, 71), 20, padded, {});
    for (double& x : gram) x = static_cast<float>(x);
    const auto gpu = to_gpu(gram);
    BasisBuilder builder(width, padded);
    by_cholesky(builder, gpu.data(), 1.0, kLambda, nullptr);
    check(builder);
    expect_eigenbasis(builder, gram, width, 1.0, kLambda);
  }
}

TEST_F(CudaBases, BasesRepeatBitForBit) {
  for (const Index width : {100, 128, 300}) {
    const Index padded = padded_of(width);
    std::vector<std::vector<double>> grams;
    for (const std::uint64_t seed : {61, 62}) {
      grams.push_back(gram_of(mixed_table(700, width, 1.0, seed), 700, padded, {}));
    }
    std::vector<std::vector<float>> results;
    for (int run = 0; run < 2; ++run) {
      BasisBuilder builder(width, padded);
      for (const auto& gram : grams) {
        const auto gpu = to_gpu(gram);
        builder.by_eigenvectors(gpu.data(), 1.0, 0.1, nullptr);
        results.push_back(to_host(builder.basis().numbers()));
        by_cholesky(builder, gpu.data(), 1.0, 0.1, nullptr);
        results.push_back(to_host(builder.basis().numbers()));
      }
    }
    for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(same_bits(results[i], results[i + 4])) << i;
  }
}

}  // namespace
}  // namespace likewise::cuda
