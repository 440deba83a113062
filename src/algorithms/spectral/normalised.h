// SPDX-License-Identifier: Apache-2.0
/// What all devices share of spectral factors, in the letters of docs/reference/math.md.
#pragma once

#include <vector>

#include "likewise/csr.h"
#include "likewise/matrix.h"

namespace likewise {

/// U S V' is the truncated singular value decomposition of A = D_U^(-1/2) X D_I^(-1/2), with D_U
/// and D_I the numbers of entries of users and items.
struct SpectralFactors {
  std::vector<double> singular;  ///< S, falling; 0 beyond the rank of A
  /// V, items x factors: the largest component of a column is positive, of equally large ones the
  /// first. Columns of singular values that are 0 are zeros.
  Matrix items;

  /// Of a matrix of zeros.
  [[nodiscard]] static SpectralFactors none(Index items, int factors) {
    return {std::vector<double>(static_cast<std::size_t>(factors)), Matrix(items, factors)};
  }
};

/// A = D_U^(-1/2) X D_I^(-1/2) with the columns of `by_user`, in float32.
[[nodiscard]] CsrMatrix normalised(const CsrView& by_user);

/// Singular values that are no more than this share of the largest are rounding: they are roots of
/// sums in float32.
inline constexpr double kLeastSingular = 2e-3;

/// S of eigenvalues of A'A, falling: their roots, or 0 where they are rounding.
[[nodiscard]] std::vector<double> singular_values(std::vector<double> eigenvalues);

/// Turns the columns so that their largest components are positive; those whose singular value is 0
/// become zeros.
void settle_columns(SpectralFactors& factors);

}  // namespace likewise
