// SPDX-License-Identifier: Apache-2.0
/// Parallel loops over TBB, whose headers only parallel.cpp includes: they take long to compile.
/// Results must not depend on the number of threads: blocks are cut by `block` alone, so a
/// reduction over blocks in their order is the same everywhere.
#pragma once

#include <algorithm>

#include "likewise/types.h"

namespace likewise {

/// A function that somebody else holds: call(self, i).
struct TaskView {
  const void* self;
  void (*call)(const void* self, Offset i);

  template <class Task>
  explicit TaskView(const Task& task)
      : self(&task), call([](const void* it, Offset i) { (*static_cast<const Task*>(it))(i); }) {}
};

/// Calls task(i) for every i in [0, count), on all threads. Exceptions pass through; without one
/// every call was made, also inside a task of a loop that another task's exception ends.
void run_tasks(Offset count, TaskView task);
/// The same for loops that follow one another over the same data: tasks are dealt out to the
/// threads in turn, and a thread runs its own first, then those of others. It finds what it wrote
/// before in its cache, where that of another processor can be as far away as memory.
void run_affine_tasks(Offset count, TaskView task);
/// Calls task(0) on this thread, which meanwhile takes up no task of another loop.
void run_isolated(TaskView task);

/// Calls body(begin, end, block_number) for [0, n) cut into blocks of `block` (the last may be
/// shorter). Exceptions pass through.
template <class Body>
void parallel_blocks(Offset n, Offset block, const Body& body) {
  const auto task = [&](Offset b) { body(b * block, std::min(n, (b + 1) * block), b); };
  run_tasks((n + block - 1) / block, TaskView(task));
}

/// Calls body(i) for every i in [0, n); `grain` calls make one task.
template <class Body>
void parallel_for(Offset n, Offset grain, const Body& body) {
  parallel_blocks(n, grain, [&](Offset begin, Offset end, Offset) {
    for (Offset i = begin; i < end; ++i) body(i);
  });
}

}  // namespace likewise
