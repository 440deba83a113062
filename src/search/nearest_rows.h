// SPDX-License-Identifier: Apache-2.0
/// The order of neighbours: the most similar first, of equally similar ones those with more common
/// entries, then the smaller row. Searches know nothing of the second: where it decides, rows are
/// looked at again.
#pragma once

#include <span>
#include <vector>

#include "algorithms/neighbours/similarity.h"
#include "backends/jobs/neighbours.h"
#include "backends/top_k.h"
#include "likewise/control.h"

namespace likewise {

/// How many columns two rows have in common; both rise.
[[nodiscard]] Index common_entries(std::span<const Index> a, std::span<const Index> b);

/// Sorts `candidates` and leaves the k nearest of a row with these columns; `rows` are theirs.
void keep_nearest(std::span<const Index> columns, const CsrView& rows, std::size_t k,
                  std::vector<Candidate>& candidates);

/// The k nearest of every row of the problem that `search` is for, in the order above. Errors as
/// NeighbourSearch::find().
[[nodiscard]] Neighbours find_nearest(const SimilarityProblem& problem,
                                      const NeighbourSearch& search, Index k,
                                      const RunControl& control);

}  // namespace likewise
