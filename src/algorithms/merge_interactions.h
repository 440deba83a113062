// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "likewise/interactions.h"

namespace likewise {

/// Two sets of ids as one, and where each of theirs is in it.
struct MergedIds {
  IdMap ids;
  std::vector<Index> first;
  std::vector<Index> second;
};
[[nodiscard]] MergedIds merge_ids(const IdMap& first, const IdMap& second);

/// Both matrices in the indices of the merged ids. A cell of both is the second one's value, or the
/// sum.
[[nodiscard]] CsrMatrix merge_matrices(const CsrView& first, const CsrView& second,
                                       const MergedIds& rows, const MergedIds& columns, bool sum);

}  // namespace likewise
