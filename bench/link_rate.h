// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace likewise {

/// Bytes a second that GPU `to` copies from the memory of GPU `from`: the best of several copies.
[[nodiscard]] double link_rate(int from, int to);

/// The same to GPU `to` from pinned memory of the host.
[[nodiscard]] double host_rate(int to);

}  // namespace likewise
