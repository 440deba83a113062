// SPDX-License-Identifier: Apache-2.0
/// The popularity baseline: everybody gets what most people took. Any model has to beat it.
#pragma once

#include "likewise/csr.h"
#include "likewise/factors.h"

namespace likewise {

struct PopularParams {
  Feedback feedback = Feedback::kImplicit;

  /// Nothing can be wrong with them.
  void validate() const {}
};

/// Factors with 0 columns whose item bias is the share of users with an entry (for implicit
/// feedback: a positive entry) for the item.
[[nodiscard]] Factors train_popularity(const CsrView& by_user, const PopularParams& params);

}  // namespace likewise
