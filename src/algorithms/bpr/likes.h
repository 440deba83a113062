// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "likewise/csr.h"

namespace likewise {

/// The cells with values above 0: what BPR takes for likes.
[[nodiscard]] CsrMatrix likes_of(const CsrView& by_user);

}  // namespace likewise
