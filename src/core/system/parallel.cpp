// SPDX-License-Identifier: Apache-2.0
#include "core/system/parallel.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#ifdef LIKEWISE_PLAIN_THREADS
#include "core/system/plain_threads.h"
#endif

namespace likewise {

void run_tasks(Offset count, TaskView task) {
  const auto one = [&](Offset i) { task.call(task.self, i); };
#ifdef LIKEWISE_PLAIN_THREADS
  run_on_plain_threads(count, one);
#else
  tbb::parallel_for(Offset{0}, count, one);
#endif
}

void run_isolated(TaskView task) {
  tbb::this_task_arena::isolate([&] { task.call(task.self, 0); });
}

}  // namespace likewise
