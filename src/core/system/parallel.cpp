// SPDX-License-Identifier: Apache-2.0
#include "core/system/parallel.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#ifdef LIKEWISE_PLAIN_THREADS
#include "core/system/plain_threads.h"
#endif

namespace likewise {

void run_tasks(Offset count, TaskView task) {
  const auto one = [&](Offset i) { task.call(task.self, i); };
#ifdef LIKEWISE_PLAIN_THREADS
  run_on_plain_threads(count, one);
#else
  // A context of its own: where a task of a loop throws, oneTBB stops the loops inside its other
  // tasks too, and those return as if they were done.
  tbb::task_group_context own(tbb::task_group_context::isolated);
  tbb::parallel_for(Offset{0}, count, one, own);
#endif
}

void run_isolated(TaskView task) {
  tbb::this_task_arena::isolate([&] { task.call(task.self, 0); });
}

}  // namespace likewise
