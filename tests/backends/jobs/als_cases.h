// SPDX-License-Identifier: Apache-2.0
/// What tests of ALS run over: parameters, strategies with their tolerances, awkward matrices.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "likewise/als.h"
#include "likewise/csr.h"
#include "likewise/types.h"

namespace likewise::test {

constexpr Side kSides[] = {Side::kUsers, Side::kItems};

/// Few factors, large first ones, and a regularization at which systems are well conditioned.
[[nodiscard]] AlsParams small_als(Feedback feedback, int factors);

struct AlsCase {
  std::string name;
  AlsParams params;
};
struct AlsCases {
  std::string name;
  std::vector<AlsCase> cases;
};
void PrintTo(const AlsCases& cases, std::ostream* to);
/// Every option that changes the mathematics, in `implicit` and `explicit`; widths around the sizes
/// of tiles, up to `widest`, in `implicit_widths` and `explicit_widths`; `implicit_wide` and
/// `explicit_wide` are those whose rows' matrices no block of a GPU holds.
[[nodiscard]] std::vector<AlsCases> als_cases(int widest);
/// Confidence given: all above 1, with some of 1, or from 1 down to 0.1, on values from 1 to 5. On
/// values of 0 it is 0 in all cases. Devices without weights below 0 train on the first two without
/// such.
[[nodiscard]] AlsCases given_cases(bool below_one);
/// Factors that are 0 and more.
[[nodiscard]] AlsCases nonnegative_cases();
/// Likes counted in place of cells. Devices without weights below 0 do not train on them.
[[nodiscard]] AlsCases likes_cases();
/// What reaches every kernel of a GPU for rows.
[[nodiscard]] std::vector<AlsCases> als_kernel_cases();
/// Those of rows that are hardly regularized: with more factors their ratings would be too few.
[[nodiscard]] std::vector<AlsCases> als_pivot_cases();

/// How far an answer may be from the exact one. Objectives of half-steps in units of the objective
/// of zero factors: rounding is that of the sums which an objective is the small difference of.
struct AlsTolerance {
  double objective = 0.0;  ///< of the factors found, above the exact minimum
  double reported = 0.0;   ///< what the solver says it is, from what it is
  double factors = 0.0;    ///< relative, in the Euclidean norm over a side
  double gradient = 0.0;   ///< worst_gradient (als_oracle.h)
  double drift = 0.0;      ///< of the objective in ten iterations, relative to an exact training's
};

/// A strategy to solve rows on a device, and how good it has to be.
struct AlsStrategy {
  std::string name;  ///< "auto_fp16"
  AlsSolverKind solver;
  Precision precision;
  bool exact;  ///< solves to the rounding of its numbers: Cholesky, and CG with 100 steps
  AlsTolerance tolerance;

  [[nodiscard]] AlsParams applied_to(AlsParams params) const;
  /// Nonnegative factors are solved exactly, in float32.
  [[nodiscard]] bool suits(const AlsParams& params) const;
};
void PrintTo(const AlsStrategy& strategy, std::ostream* to);
/// All that a device offers: the default first, then each solver in all precisions.
[[nodiscard]] std::vector<AlsStrategy> als_strategies(const std::string& device);

/// About `per_row` entries a row, and: a user with nearly all items, a user without any, a user
/// with one; an item without any, an item with one; values of 0; dislikes where asked for.
[[nodiscard]] CsrMatrix awkward_matrix(Index users, Index items, bool dislikes, std::uint64_t seed);

/// 5 users x 140 items: users with 0, 1, 40, 100 and 139 items: for kernels of short rows and of
/// others, whose interactions take several stages.
[[nodiscard]] CsrMatrix few_rows_matrix();
/// A row of each side with about half of all interactions, and rows without any.
[[nodiscard]] CsrMatrix half_in_a_row();

struct NamedMatrix {
  std::string name;
  CsrMatrix matrix;
};
/// What is hard to share out over ranks: the above, one cell, and fewer rows than ranks.
[[nodiscard]] std::vector<NamedMatrix> matrices_of_ranks(bool dislikes);

/// 40,000 users x 7 items: two items with 20,000 users each, one with 34,000.
[[nodiscard]] CsrMatrix long_rows_matrix();

/// 100 items: 90 with 15 to 60 percent of all users, nine with about 1, and one with all.
[[nodiscard]] CsrMatrix dense_items_matrix(Index users);

}  // namespace likewise::test
