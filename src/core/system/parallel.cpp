// SPDX-License-Identifier: Apache-2.0
#include "core/system/parallel.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "likewise/control.h"

#ifdef LIKEWISE_PLAIN_THREADS
#include "core/system/plain_threads.h"
#endif

namespace likewise {

void run_tasks(Offset count, TaskView task) {
  const auto one = [&](Offset i) { task.call(task.self, i); };
#ifdef LIKEWISE_PLAIN_THREADS
  run_on_plain_threads(count, one);
#else
  if (count == 1) return one(0);  // questions about one user are many
  // A context of its own: where a task of a loop throws, oneTBB stops the loops inside its other
  // tasks too, and those return as if they were done.
  tbb::task_group_context own(tbb::task_group_context::isolated);
  // A thread that becomes free draws the next tasks: they start in their order, the longest first
  // where they are sorted so, and none waits behind another for the thread that holds both.
  constexpr Offset kMostDraws = 128;  // by a thread
  const Offset each = std::max<Offset>(1, count / (kMostDraws * thread_count()));
  std::atomic<Offset> next = 0;
  const auto draw = [&](Offset) {
    const Offset first = next.fetch_add(each, std::memory_order_relaxed);
    for (Offset i = first; i < std::min(first + each, count); ++i) one(i);
  };
  tbb::parallel_for(Offset{0}, (count + each - 1) / each, draw, tbb::simple_partitioner(), own);
#endif
}

void run_affine_tasks(Offset count, TaskView task) {
#ifdef LIKEWISE_PLAIN_THREADS
  run_tasks(count, task);
#else
  struct alignas(64) Turns {  // a line of the cache each
    std::atomic<Offset> taken = 0;
  };
  const Offset parts = std::clamp<Offset>(count, 1, thread_count());
  std::vector<Turns> all(static_cast<std::size_t>(parts));
  tbb::task_group_context own(tbb::task_group_context::isolated);  // as above
  const auto draw = [&](Offset) {
    const auto home = Offset{tbb::this_task_arena::current_thread_index()};
    for (Offset p = home; p < home + parts; ++p) {
      const Offset part = p % parts;
      std::atomic<Offset>& taken = all[static_cast<std::size_t>(part)].taken;
      for (Offset i = part + parts * taken++; i < count; i = part + parts * taken++) {
        task.call(task.self, i);
      }
    }
  };
  tbb::parallel_for(Offset{0}, parts, draw, tbb::simple_partitioner(), own);
#endif
}

void run_isolated(TaskView task) {
  tbb::this_task_arena::isolate([&] { task.call(task.self, 0); });
}

}  // namespace likewise
