// SPDX-License-Identifier: Apache-2.0
/// Ranks of every kind, for tests of what all of them promise.
#pragma once

#include <chrono>
#include <ostream>

#include "backends/distributed/transport/thread_ranks.h"

namespace likewise::test {

/// Threads, or TCP between threads of this process, by IPv4 or IPv6.
enum class RankKind { kThreads, kSockets, kSockets6 };
void PrintTo(RankKind kind, std::ostream* to);

/// Whether this machine has addresses of that kind.
[[nodiscard]] bool has_ranks(RankKind kind);

/// As run_thread_ranks(), by ranks of that kind: throws what any rank threw first.
void run_ranks(RankKind kind, int size, std::chrono::milliseconds patience,
               const RunControl& control, const RankWork& work);

}  // namespace likewise::test
