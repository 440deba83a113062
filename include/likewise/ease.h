// SPDX-License-Identifier: Apache-2.0
/// Item-item weights by ridge regression: EASE (Steck 2019) and EDLAE (Steck 2020), with weights of
/// users and items. With X the histories (users x items), D_U and D_I the numbers of entries of
/// users and items:
///
///     G = D_I^(a-1) X' D_U^(-b) X D_I^(-a)      without scale_items: X' D_U^(-b) X
///     P = (G + L)^-1,  L = lambda I + p / (1 - p) diag(G)
///     B = I - P diag(1 / diag(P))
///
/// and a history x has the scores x B. math.md has the derivation.
#pragma once

#include <string_view>
#include <variant>

#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/device.h"
#include "likewise/knn.h"
#include "likewise/matrix.h"
#include "likewise/types.h"

namespace likewise {

/// kDense: all of B, from one system of all items. kLocal: of each item a column of B from its
/// `candidates` most similar items alone, a small system for each item, for catalogues whose square
/// does not fit into memory.
enum class EaseForm { kDense, kLocal };

inline constexpr std::string_view kEaseFormNames[] = {"dense", "local"};

struct EaseParams {
  Feedback feedback = Feedback::kImplicit;  ///< implicit only: scores rank
  double user_exponent = 0.5;               ///< b, 0 to 2: how little users with many entries count
  bool scale_items = true;                  ///< whether G is relative to the items' entries
  double item_exponent = 0.2;               ///< a, 0 to 1, with scale_items
  double regularization = 3.0;              ///< lambda, 1e-15 to 1e15
  double dropout = 0.0;                     ///< p, 0 to 0.99
  EaseForm form = EaseForm::kDense;
  int candidates = 200;  ///< M of kLocal, 1 to 4096

  /// The same for both: it learns from what users have.
  [[nodiscard]] static EaseParams defaults(Feedback) { return {}; }

  /// Throws Error(kInvalidArgument) naming the field, its value and its range.
  void validate() const;
  friend bool operator==(const EaseParams&, const EaseParams&) = default;
};

/// What kDense learns: B, items x items, its diagonal 0. What item i of a history adds to the score
/// of j is its value times B_ij.
struct ItemWeights {
  Matrix weights;
};

}  // namespace likewise
