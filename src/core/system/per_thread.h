// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <tbb/enumerable_thread_specific.h>

namespace likewise {

#ifdef LIKEWISE_PLAIN_THREADS
/// The thread sanitizer does not see oneTBB's allocator free what another thread then gets.
template <class T>
using PerThread = tbb::enumerable_thread_specific<T, std::allocator<T>>;
#else
/// One T for each thread that asks for its local().
template <class T>
using PerThread = tbb::enumerable_thread_specific<T>;
#endif

}  // namespace likewise
