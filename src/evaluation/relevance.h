// SPDX-License-Identifier: Apache-2.0
/// The users that ranking metrics are computed for, and their relevant items.
#pragma once

#include <span>
#include <vector>

#include "likewise/csr.h"

namespace likewise {

struct Relevance {
  std::vector<Index> users;     ///< rising; each has at least one relevant item
  std::vector<Offset> offsets;  ///< users.size() + 1 positions in `items`
  std::vector<Index> items;     ///< rising per user
  Offset below_threshold = 0;   ///< test rows with too small a value
  Offset seen = 0;              ///< test rows left out because the user's `seen` row has the item
  Index users_without_history = 0;  ///< of `users`, or left out

  [[nodiscard]] Index size() const { return static_cast<Index>(users.size()); }
  [[nodiscard]] std::span<const Index> of(Offset position) const {
    const auto p = static_cast<std::size_t>(position);
    return std::span(items).subspan(static_cast<std::size_t>(offsets[p]),
                                    static_cast<std::size_t>(offsets[p + 1] - offsets[p]));
  }
};

/// The row of a user, or nothing when the matrix has no rows at all.
[[nodiscard]] inline std::span<const Index> row_or_nothing(const CsrView& matrix, Index row) {
  return matrix.rows == 0 ? std::span<const Index>() : matrix.row_columns(row);
}

/// `seen.rows` is 0 (nothing seen) or test.rows. `with_history`: users with an empty row of `seen`
/// are counted and left out.
[[nodiscard]] Relevance find_relevant(const CsrView& test, const CsrView& seen, float min_value,
                                      bool with_history = false);

}  // namespace likewise
