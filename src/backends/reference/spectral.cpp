// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "algorithms/spectral/normalised.h"
#include "algorithms/spectral/user_sums.h"
#include "backends/jobs/host_plan.h"
#include "backends/reference/jobs.h"
#include "core/linalg/lapack.h"

namespace likewise {
namespace {

/// All eigenvectors of A'A in double precision.
class ReferenceSpectral final : public SpectralJob {
 public:
  [[nodiscard]] MemoryPlan plan(const SpectralShape& shape) const override {
    return spectral_plan(shape, shape.items);
  }
  [[nodiscard]] SpectralFactors decompose(const CsrView& by_user, int factors,
                                          std::uint64_t /*seed*/,
                                          const RunControl& /*control*/) const override {
    const Index n = by_user.cols;
    std::vector<double> vectors = gram(normalised(by_user));
    std::vector<double> values(static_cast<std::size_t>(factors));
    Matrix v(n, factors);
    if (n > 0) {
      const std::vector<double> rising = symmetric_eigen(vectors, n);
      for (Index f = 0; f < std::min<Index>(n, factors); ++f) {
        const Index at = n - 1 - f;
        values[static_cast<std::size_t>(f)] = rising[static_cast<std::size_t>(at)];
        for (Index i = 0; i < n; ++i) {
          v.row(i)[f] = static_cast<float>(vectors[static_cast<std::size_t>(Offset{at} * n + i)]);
        }
      }
    }
    SpectralFactors result{singular_values(values), std::move(v)};
    settle_columns(result);
    return result;
  }
  [[nodiscard]] Matrix users(const CsrView& by_user, std::span<const double> scale,
                             const Matrix& items) const override {
    return user_sums(by_user, scale, items);
  }

 private:
  [[nodiscard]] static std::vector<double> gram(const CsrMatrix& a) {
    const auto n = static_cast<std::size_t>(a.cols);
    std::vector<double> sum(n * n);
    for (Index user = 0; user < a.rows; ++user) {
      for (Offset e = a.offsets[user]; e < a.offsets[user + 1]; ++e) {
        for (Offset f = a.offsets[user]; f < a.offsets[user + 1]; ++f) {
          sum[static_cast<std::size_t>(a.columns[e]) * n +
              static_cast<std::size_t>(a.columns[f])] += double{a.values[e]} * double{a.values[f]};
        }
      }
    }
    return sum;
  }
};

}  // namespace

std::unique_ptr<SpectralJob> make_reference_spectral() {
  return std::make_unique<ReferenceSpectral>();
}

}  // namespace likewise
