// SPDX-License-Identifier: Apache-2.0
#include "algorithms/spectral/normalised.h"

#include <cmath>
#include <utility>

#include "algorithms/row_counts.h"
#include "core/system/parallel.h"

namespace likewise {

CsrMatrix normalised(const CsrView& by_user) {
  const std::vector<Offset> counts = column_counts(by_user);
  const auto entries = static_cast<std::size_t>(by_user.nnz());
  CsrMatrix a;
  a.rows = by_user.rows;
  a.cols = by_user.cols;
  a.offsets = Array<Offset>::copy_of({by_user.offsets, static_cast<std::size_t>(a.rows) + 1});
  a.columns = Array<Index>::copy_of({by_user.columns, entries});
  a.values = Array<float>::uninitialized(by_user.nnz());
  parallel_for(a.rows, 64, [&](Offset user) {
    const auto size = static_cast<double>(a.offsets[user + 1] - a.offsets[user]);
    for (Offset e = a.offsets[user]; e < a.offsets[user + 1]; ++e) {
      const auto of_item =
          static_cast<double>(counts[static_cast<std::size_t>(by_user.columns[e])]);
      a.values[e] = static_cast<float>(double{by_user.values[e]} / std::sqrt(size * of_item));
    }
  });
  return a;
}

std::vector<double> singular_values(std::vector<double> eigenvalues) {
  const double largest = eigenvalues.empty() ? 0.0 : eigenvalues.front();
  for (double& value : eigenvalues) {
    value = value > kLeastSingular * kLeastSingular * largest ? std::sqrt(value) : 0.0;
  }
  return eigenvalues;
}

void settle_columns(SpectralFactors& factors) {
  Matrix& v = factors.items;
  parallel_for(v.cols(), 8, [&](Offset column) {
    float largest = 0.0F;
    for (Index i = 0; i < v.rows(); ++i) {
      if (std::abs(v.row(i)[column]) > std::abs(largest)) largest = v.row(i)[column];
    }
    const bool none = factors.singular[static_cast<std::size_t>(column)] == 0.0;
    const float sign = none ? 0.0F : largest < 0.0F ? -1.0F : 1.0F;
    for (Index i = 0; i < v.rows(); ++i) v.row(i)[column] *= sign;
  });
}

}  // namespace likewise
