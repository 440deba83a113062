// SPDX-License-Identifier: Apache-2.0
/// What the rows of an ALS training have in common, found from all rows, those of other GPUs
/// included: each GPU of several goes by the same numbers.
#pragma once

#include <span>
#include <vector>

#include "backends/distributed/communicator.h"
#include "likewise/als.h"
#include "likewise/csr.h"

namespace likewise::cuda {

[[nodiscard]] inline std::span<const Offset> offsets_of(const CsrView& matrix) {
  return {matrix.offsets, static_cast<std::size_t>(matrix.rows) + 1};
}

/// Over the rows of a side that have entries.
struct SideTotals {
  float smallest_regularization = 0.0F;
  float typical_regularization = 0.0F;  ///< mean over entries of lambda_row (/ count: explicit)
  Offset smallest_count = 0;            ///< entries of the shortest of these rows
};

struct AlsTotals {
  AlsShape shape;
  SideTotals users;
  SideTotals items;
  float target_scale = 1.0F;  ///< a power of two not below any residual of an explicit rating

  [[nodiscard]] const SideTotals& side(Side side) const {
    return side == Side::kUsers ? users : items;
  }
};

/// Offsets of the transposed matrix.
[[nodiscard]] std::vector<Offset> column_offsets(const CsrView& matrix);

/// `item_offsets` are those of the transposed matrix.
[[nodiscard]] AlsTotals find_totals(const CsrView& by_user, std::span<const Offset> item_offsets,
                                    const AlsParams& params);

/// The same by ranks that know no more than their own rows: a collective call. `shape` is that of
/// the whole matrix; `users` are the rank's users x all items, `items` its items x all users.
[[nodiscard]] AlsTotals find_totals_together(Communicator& ranks, const AlsShape& shape,
                                             const CsrView& users, const CsrView& items,
                                             const AlsParams& params);

}  // namespace likewise::cuda
