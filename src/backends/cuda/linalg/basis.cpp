// SPDX-License-Identifier: Apache-2.0
/// The basis of a half-step (dense.h).
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/linalg/cholesky.h"
#include "backends/cuda/linalg/dense.h"
#include "core/linalg/dense.h"
#include "likewise/error.h"

namespace likewise::cuda {
namespace {

struct HostBasis {
  std::vector<float> transform;
  std::vector<float> back;
  std::vector<float> base;
  std::vector<float> shrink;
};

/// The basis from LAPACK's eigenvectors, on the host.
HostBasis host_basis(const std::vector<double>& gram, int width, int padded, double weight,
                     double lambda) {
  const auto wide = static_cast<std::size_t>(padded);
  const auto n = static_cast<std::size_t>(width);
  std::vector<double> matrix(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) matrix[i * n + j] = weight * gram[i * wide + j];
  }
  const Eigenbasis eigen = eigenbasis(std::move(matrix), width);

  HostBasis basis{std::vector<float>(wide * wide), std::vector<float>(wide * wide),
                  std::vector<float>(wide, 1.0F), std::vector<float>(wide)};
  for (std::size_t j = n; j < wide; ++j) basis.transform[j * wide + j] = 1.0F;
  const double most = std::max(eigen.values[n - 1], 0.0) + lambda;  // the values rise
  for (std::size_t j = 0; j < n; ++j) {
    const double s = std::max(eigen.values[j], 0.0);
    const double d = std::max({s + lambda, kLeastShare * most, static_cast<double>(FLT_MIN)});
    basis.base[j] = static_cast<float>(s / d);
    basis.shrink[j] = static_cast<float>(1.0 / d);
    for (std::size_t k = 0; k < n; ++k) {
      const double q = eigen.vectors.row(static_cast<Index>(k))[j];
      basis.transform[k * wide + j] = static_cast<float>(q / std::sqrt(d));
    }
  }
  for (std::size_t j = 0; j < wide; ++j) {
    for (std::size_t k = 0; k < wide; ++k) {
      basis.back[j * wide + k] = basis.transform[k * wide + j];
    }
  }
  return basis;
}

}  // namespace

BasisBuilder::BasisBuilder(int width, int padded)
    : width_(width),
      padded_(padded),
      basis_(padded),
      status_(2),
      status_on_host_(2),
      matrix_(Offset{padded} * padded),
      panel_(padded > kPanel ? Offset{padded} * kPanel : 0) {
  // All that it takes, now: memory that is taken later may wait for what GPUs exchange just then.
  if (JacobiSolver::fits(padded)) jacobi_.emplace(width, padded);
}

void BasisBuilder::start_cholesky(const double* gram, double weight, double lambda,
                                  cudaStream_t stream) {
  fill_zero(status_.data(), 2, stream);
  regularize(gram, width_, padded_, weight, lambda, matrix_.data(), stream);
  // A pivot is at least the smallest eigenvalue, hence lambda, or 1 in the padding: one that is
  // well below both is rounding.
  const double least = std::min(lambda, 1.0) / 2;
  int* const refused = status_.data() + 1;
  invert_cholesky(matrix_.data(), padded_, least, panel_.data(),
                  {basis_.back(), basis_.transform(), basis_.base(), basis_.shrink()}, refused,
                  stream);
  if (jacobi_) return find_eigenvectors(gram, weight, lambda, refused, stream);
  fetch_status(stream);
  cholesky_done_.record(stream);
}

void BasisBuilder::finish_cholesky(const double* gram, double weight, double lambda,
                                   cudaStream_t stream) {
  if (is_on_gpu()) return;
  cholesky_done_.wait();
  if (status_on_host_.data()[1] != 0) by_eigenvectors(gram, weight, lambda, stream);
}

void BasisBuilder::by_eigenvectors(const double* gram, double weight, double lambda_ref,
                                   cudaStream_t stream) {
  fill_zero(status_.data(), 2, stream);
  if (jacobi_) return find_eigenvectors(gram, weight, lambda_ref, nullptr, stream);
  std::vector<double> host(static_cast<std::size_t>(padded_) * padded_);
  copy_to_host(host.data(), gram, Offset{padded_} * padded_, stream);
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));
  const HostBasis made = host_basis(host, width_, padded_, weight, lambda_ref);
  const Offset size = Offset{padded_} * padded_;
  copy_to_device(basis_.transform(), made.transform.data(), size, stream);
  copy_to_device(basis_.back(), made.back.data(), size, stream);
  copy_to_device(basis_.base(), made.base.data(), padded_, stream);
  copy_to_device(basis_.shrink(), made.shrink.data(), padded_, stream);
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));
}

void BasisBuilder::find_eigenvectors(const double* gram, double weight, double lambda_ref,
                                     const int* wanted, cudaStream_t stream) {
  jacobi_->run(gram, weight, lambda_ref,
               {basis_.transform(), basis_.back(), basis_.base(), basis_.shrink()}, status_.data(),
               wanted, stream);
}

void BasisBuilder::fetch_status(cudaStream_t stream) {
  copy_to_host(status_on_host_.data(), status_.data(), 2, stream);
}

void BasisBuilder::check() const {
  const int status = status_on_host_.data()[0];
  if (status == 0) return;
  throw Error(ErrorKind::kNumerical,
              fmt::format("the {0} x {0} Gram matrix of the factors {1}: use a larger "
                          "regularization, or values nearer to 1",
                          width_,
                          status < 0 ? "is not finite"
                                     : fmt::format("has no positive pivot in column {}", status)));
}

}  // namespace likewise::cuda
