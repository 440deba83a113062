// SPDX-License-Identifier: Apache-2.0
#include "likewise/control.h"

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

namespace likewise {

#ifdef LIKEWISE_PLAIN_THREADS
namespace {
// What does not go through core/parallel.h stays on its caller's thread: see core/plain_threads.h.
const tbb::global_control kNoWorkers(tbb::global_control::max_allowed_parallelism, 1);
}  // namespace
#endif

void with_threads(int threads, const std::function<void()>& work) {
  if (threads < 0 || threads > 4096) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("threads must be in [0, 4096], not {}", threads));
  }
  if (threads == 0) return work();
  const tbb::global_control workers(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(threads));
  tbb::task_arena arena(threads);
  arena.execute(work);
}

int thread_count() { return tbb::this_task_arena::max_concurrency(); }

}  // namespace likewise
