// SPDX-License-Identifier: Apache-2.0
/// The parameters of neighbours that nobody chose, from the data: math.md, "Values that suit
/// the data".
#pragma once

#include "likewise/csr.h"
#include "likewise/knn.h"

namespace likewise {

/// Which of them somebody gave: they stay.
struct KnnGiven {
  bool neighbours = false;
  bool similarity = false;
  bool shrinkage = false;
  bool sum_lists = false;
  bool sum_scale = false;
};

/// For lists from implicit feedback: how many neighbours users have and by what, how much the
/// similarities of items are shrunk, whose lists a sum adds up and, of items, what becomes of it.
/// `by_user`: users x items.
[[nodiscard]] KnnParams data_defaults(const CsrView& by_user, KnnParams params,
                                      const KnnGiven& given);

}  // namespace likewise
