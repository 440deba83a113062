// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "likewise/csr.h"

namespace likewise {

/// Seconds that the current GPU takes for only reading, once for each interaction, the table row
/// of its column, in the order of the matrix: what no half-step over `matrix` can be faster than.
/// Median of several passes over a table of random bytes.
[[nodiscard]] double gather_seconds(const CsrView& matrix, int row_bytes);

}  // namespace likewise
