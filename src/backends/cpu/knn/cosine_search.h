// SPDX-License-Identifier: Apache-2.0
/// The nearest rows by cosine from estimates: all products of rows in float32, with a proven bound
/// of their error, then in double precision only the pairs that may be among the K best. The lists
/// are those of double precision sums over rising columns, bit-identical.
///
/// Estimates. Rows y are divided by their norms; a sum over n columns is made of parts of kDepth
/// columns that begin at 0. Each of its terms is rounded at most kDepth times within its part, once
/// for every part that is added, and three times for y / |y|, 1 / |x| and the product with that.
/// With u = 2^-24 and m = kDepth + ceil(n / kDepth) + 3 an estimate is thus off by at most
///
///     m u / (1 - m u) sum_k |x_k y_k| / (|x| |y|)  <=  m u / (1 - m u)
///
/// (Cauchy and Schwarz; a product that is rounded by itself takes no more, as its sum then begins
/// with it). The similarity is rounded to float32 itself, one u more; two u are for the difference
/// from the bound in float32 and for all that is rounded in double precision or underflows.
#pragma once

#include <optional>

#include "algorithms/knn/similarity.h"
#include "backends/jobs/knn.h"
#include "likewise/control.h"

namespace likewise {

/// Whether the formula is a plain cosine, and the norms are such that float32 neither overflows nor
/// loses digits.
[[nodiscard]] bool can_estimate(const PairFormula& formula, std::span<const RowStats> stats);

/// Whether the pairs that are scored in double precision are few beside all.
[[nodiscard]] bool estimates_pay(Index rows, Index k);

/// At most how far an estimate is from the similarity.
[[nodiscard]] double bound_of_estimates(Index cols);

/// Where can_estimate(). k: in [1, rows). What that part of the search finds, and maybe more: a row
/// whose nearest estimates do not tell is compared with all. Nothing where there are many such.
[[nodiscard]] std::optional<KnnLists> find_by_estimates(const WeightedRows& rows,
                                                        const PairFormula& formula, Index k,
                                                        const RunControl& control,
                                                        const SearchPart& part = {});

}  // namespace likewise
