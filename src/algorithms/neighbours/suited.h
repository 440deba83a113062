// SPDX-License-Identifier: Apache-2.0
/// The parameters of neighbours that nobody chose, from the data: docs/math.md, "Values that suit
/// the data".
#pragma once

#include "likewise/csr.h"
#include "likewise/neighbourhood.h"

namespace likewise {

/// What becomes of the sum of an item of this matrix (users x items).
[[nodiscard]] SumScale suited_sum_scale(const CsrView& by_user);

}  // namespace likewise
