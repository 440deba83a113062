// SPDX-License-Identifier: Apache-2.0
/// The popularity baseline: everybody gets what most people took. Any model has to beat it.
#pragma once

#include "likewise/array.h"
#include "likewise/csr.h"
#include "likewise/types.h"

namespace likewise {

struct PopularParams {
  Feedback feedback = Feedback::kImplicit;

  /// Nothing can be wrong with them.
  void validate() const {}
  friend bool operator==(const PopularParams&, const PopularParams&) = default;
};

/// What it learns, and the score of an item for everybody.
struct Popularity {
  Array<float> shares;  ///< per item: the share of users with an entry (implicit: a positive one)
};

}  // namespace likewise
