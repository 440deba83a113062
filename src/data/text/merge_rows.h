// SPDX-License-Identifier: Apache-2.0
/// Sorts the rows of a few users by user and item, and makes one row of several with the same two.
#pragma once

#include <span>

#include "data/text/rows.h"
#include "likewise/read.h"

namespace likewise {

/// What kAuto stands for.
[[nodiscard]] Duplicates chosen_policy(Duplicates wanted, bool has_values, bool has_times);

/// A (user, item) that cannot be merged, or no one.
struct MergeFault {
  bool duplicate = false;  ///< kError met a second row
  bool overflow = false;   ///< a sum passes the range of float
  Index user = 0;
  Index item = 0;
  explicit operator bool() const { return duplicate || overflow; }
};

struct MergeResult {
  Offset rows = 0;   ///< rows that are left, at the front
  MergeFault fault;  ///< of the first (user, item)
};

/// `rows` are in file order, users in [first_user, last_user). Writes to counts[user - first_user]
/// how many rows a user has after merging.
/// kSum and kMean add in file order, in double precision; kCount adds the values, which are the
/// weights of rows then. kNewest needs TimedRow.
template <class Row>
MergeResult sort_and_merge(std::span<Row> rows, Index first_user, Index last_user,
                           Duplicates duplicates, Offset* counts);

extern template MergeResult sort_and_merge(std::span<PlainRow>, Index, Index, Duplicates, Offset*);
extern template MergeResult sort_and_merge(std::span<TimedRow>, Index, Index, Duplicates, Offset*);

}  // namespace likewise
