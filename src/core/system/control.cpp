// SPDX-License-Identifier: Apache-2.0
#include "likewise/control.h"

#include <algorithm>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "core/system/memory.h"

namespace likewise {

namespace {

#ifdef LIKEWISE_PLAIN_THREADS
// What does not go through core/parallel.h stays on its caller's thread: see core/plain_threads.h.
const tbb::global_control kNoWorkers(tbb::global_control::max_allowed_parallelism, 1);
#endif

/// Addresses that a thread may take beside its work: malloc's arena of 64 MiB, aligned, and a
/// stack. oneTBB ends the process where one of its threads finds no room for the next one.
constexpr std::uint64_t kThreadBytes = std::uint64_t{72} << 20;

/// As many threads as fit half of the addresses that a limit (`ulimit -v`) leaves.
int affordable(int threads) {
  const std::uint64_t most = 1 + available_addresses() / 2 / kThreadBytes;
  return static_cast<int>(std::min<std::uint64_t>(most, static_cast<std::uint64_t>(threads)));
}

}  // namespace

void with_threads(int threads, const std::function<void()>& work) {
  if (threads < 0 || threads > 4096) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} must be in [0, 4096], not {}", mention("threads"), threads));
  }
  const int possible = affordable(threads == 0 ? thread_count() : threads);
  if (threads == 0 && possible == thread_count()) return work();
  const tbb::global_control workers(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(possible));
  tbb::task_arena arena(possible);
  arena.execute(work);
}

int thread_count() { return tbb::this_task_arena::max_concurrency(); }

}  // namespace likewise
