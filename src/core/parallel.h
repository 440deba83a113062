// SPDX-License-Identifier: Apache-2.0
/// Parallel loops over TBB. Results must not depend on the number of threads: blocks are cut by
/// `block` alone, so a reduction over blocks in their order is the same everywhere.
#pragma once

#include <algorithm>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#ifdef LIKEWISE_PLAIN_THREADS
#include "core/plain_threads.h"
#endif
#include "likewise/types.h"

namespace likewise {

/// Calls body(begin, end, block_number) for [0, n) cut into blocks of `block` (the last may be
/// shorter). Exceptions pass through.
template <class Body>
void parallel_blocks(Offset n, Offset block, const Body& body) {
  const Offset blocks = (n + block - 1) / block;
  const auto task = [&](Offset b) { body(b * block, std::min(n, (b + 1) * block), b); };
#ifdef LIKEWISE_PLAIN_THREADS
  run_on_plain_threads(blocks, task);
#else
  tbb::parallel_for(Offset{0}, blocks, task);
#endif
}

/// Calls body(i) for every i in [0, n); `grain` calls make one task.
template <class Body>
void parallel_for(Offset n, Offset grain, const Body& body) {
  parallel_blocks(n, grain, [&](Offset begin, Offset end, Offset) {
    for (Offset i = begin; i < end; ++i) body(i);
  });
}

}  // namespace likewise
