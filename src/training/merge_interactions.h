// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "likewise/interactions.h"
#include "likewise/read.h"

namespace likewise {

/// Two sets of ids as one, and where each of theirs is in it.
struct UnionOfIds {
  IdMap ids;
  std::vector<Index> first;
  std::vector<Index> second;
};
[[nodiscard]] UnionOfIds unite_ids(const IdMap& first, const IdMap& second);

/// Where each of the united ids is in one of the two: the inverse of `places`, -1 where it is not.
[[nodiscard]] std::vector<Index> origins_of(const std::vector<Index>& places, Index united);

/// Both matrices in the indices of the merged ids. What a cell of both becomes is as if one file
/// had the rows of the first and then those of the second, all newer. Throws
/// Error(kInvalidArgument) for Duplicates::kAuto and kMean, Error(kBadData) naming the first cell
/// of both for kError.
struct MergedMatrix {
  CsrMatrix matrix;
  Offset in_both = 0;  ///< cells
};
[[nodiscard]] MergedMatrix merge_matrices(const CsrView& first, const CsrView& second,
                                          const UnionOfIds& rows, const UnionOfIds& columns,
                                          Duplicates duplicates);

/// The same interactions, without times, with users and items in the order of `users` and `items`;
/// nothing where they are in that order, or are others. A model that was updated may have integers
/// before text (id_map.h), where a file has them among it.
[[nodiscard]] std::optional<Interactions> in_order_of(const IdMap& users, const IdMap& items,
                                                      const Interactions& data);

}  // namespace likewise
