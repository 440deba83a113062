// SPDX-License-Identifier: Apache-2.0
/// `SgdParts`: who holds which rows of an SGD training over ranks (math.md, "SGD over ranks").
#pragma once

#include "algorithms/sgd/grid.h"
#include "backends/distributed/partition.h"
#include "likewise/csr.h"
#include "likewise/sgd.h"

namespace likewise {

/// Rows by their new numbers.
struct SgdParts {
  Partition stripes;  ///< of the users and of the items, except for kAlternating; none is empty
  Partition users;
  Partition items;

  [[nodiscard]] int ranks() const { return users.ranks(); }
  [[nodiscard]] const Partition& parts(Side side) const {
    return side == Side::kUsers ? users : items;
  }
};

/// Throws Error(kInvalidArgument) where two or more cannot share the order; `what` they are:
/// "ranks".
void require_shared_order(const SgdParams& params, int ranks, const char* what);

/// Stripes of about equal numbers of ratings, with the rows in them. As many parts as ranks, or
/// fewer where not all would have a stripe: in a ring each passes on what it has.
[[nodiscard]] SgdParts cut_stripes(const SgdGrid& grid, int ranks);

/// For kAlternating: rows of about equal numbers of ratings; parts may be empty.
[[nodiscard]] SgdParts cut_lines(const CsrView& by_user, const SgdGrid& grid, int ranks);

}  // namespace likewise
