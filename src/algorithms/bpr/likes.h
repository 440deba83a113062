// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "likewise/csr.h"

namespace likewise {

/// The cells with values above 0: what BPR takes for likes.
[[nodiscard]] CsrMatrix likes_of(const CsrView& by_user);
/// The same, without a copy where all cells are such.
[[nodiscard]] CsrMatrix likes_of(CsrMatrix by_user);
/// How many users like each item.
[[nodiscard]] std::vector<Offset> like_counts(const CsrView& by_user);

}  // namespace likewise
