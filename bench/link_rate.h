// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace likewise {

/// Bytes a second that GPU `to` copies from the memory of GPU `from`: the best of several copies.
[[nodiscard]] double link_rate(int from, int to);

}  // namespace likewise
