// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "likewise/csr.h"
#include "likewise/factors.h"

namespace likewise {

/// The cells with values above 0: what BPR takes for likes.
[[nodiscard]] CsrMatrix likes_of(const CsrView& by_user);
/// The same, without a copy where all cells are such.
[[nodiscard]] CsrMatrix likes_of(CsrMatrix by_user);
/// What losses add up to at most, of so many likes, where no score has been learned yet: with the
/// scores that the factors give.
[[nodiscard]] double losses_of_first(Offset likes, const Factors& factors);
/// How many users like each item.
[[nodiscard]] std::vector<Offset> like_counts(const CsrView& by_user);

}  // namespace likewise
