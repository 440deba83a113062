// SPDX-License-Identifier: Apache-2.0
/// What makes G of EASE symmetric, for all devices, in the letters of docs/reference/math.md.
///
/// With D = D_I, M = X' D_U^(-b) X and s = 1/2 - a:
///   G = D^(-s) S D^s,  S = D^(-1/2) M D^(-1/2),  diag(G) = diag(S)
///   P = D^(-s) Q D^s,  Q = (S + L)^-1,           diag(P) = diag(Q)
///   B_ij = -n_i^(-s) Q_ij n_j^s / Q_jj
/// so Cholesky will do. Without a, S is M and s is 0.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "likewise/csr.h"
#include "likewise/knn.h"

namespace likewise {

/// Which weights.
///   G = D_I^(a-1) X' D_U^(-b) X D_I^(-a),  L = lambda I + p / (1 - p) diag(G)
///   P = (G + L)^-1,  B = I - P diag(1 / diag(P))
/// D_U and D_I are the numbers of entries of users and items.
struct EaseSystem {
  double user_exponent = 0.0;             ///< b
  std::optional<double> item_exponent{};  ///< a; absent: G = X' D_U^(-b) X
  double regularization = 0.0;            ///< lambda, >= 0
  double dropout = 0.0;                   ///< p, in [0, 1)
};

struct EaseScales {
  std::vector<double> user;  ///< d_u^-b
  std::vector<double> item;  ///< n_i^(-1/2); 0 for items without entries
  std::vector<double> row;   ///< n_i^(-s); 0 for items without entries
  double diagonal = 1.0;     ///< 1 + p / (1 - p)
  double regularization = 0.0;

  /// The diagonal of S + L.
  [[nodiscard]] double damped(double s) const { return diagonal * s + regularization; }
  /// n_j^s / q
  [[nodiscard]] double of_column(std::size_t j, double q) const {
    return row[j] > 0.0 ? 1.0 / (row[j] * q) : 0.0;
  }
};

[[nodiscard]] EaseScales make_ease_scales(const CsrView& by_user, const EaseSystem& system);

/// Numbers of the systems that form local makes and solves together: 1 GiB.
inline constexpr Offset kEaseBatchNumbers = Offset{1} << 28;

/// A pivot of a row is rounding where it is no more than this share of the row's diagonal.
inline constexpr double kLeastPivot = 0x1p-20;

/// Throws PlacedError(kNumerical).
[[noreturn]] void refuse_singular_ease(Index item, const EaseSystem& system);

/// Throws Error(kInvalidArgument) unless there is a list of candidates for each item, of items.
void check_candidates(const CsrView& by_user, const KnnLists& candidates);

/// Those of an item that its system is of: rising, each once, without the item itself.
[[nodiscard]] std::vector<Index> system_candidates(const KnnLists& candidates, Index item);

}  // namespace likewise
