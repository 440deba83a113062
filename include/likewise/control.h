// SPDX-License-Identifier: Apache-2.0
/// How a caller follows and stops long work, and how many threads it may use.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>

#include "likewise/error.h"
#include "likewise/types.h"

namespace likewise {

/// One report of how far a piece of work is. `total` is 0 when it is not known.
struct ProgressUpdate {
  std::string_view stage;  ///< e.g. "read", "train", "recommend"; a remark where unit is empty
  Offset done = 0;
  Offset total = 0;
  std::string_view unit;  ///< e.g. "rows", "iterations"
};

/// Passed down into long work. Both members may stay empty. `on_progress` is called from one thread
/// at a time; `cancel` may be set from a signal handler or another thread.
struct RunControl {
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(const ProgressUpdate&)> on_progress{};

  /// Throws Error(kCancelled) when the caller asked to stop. Cheap: call it once per block of work.
  void check() const {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) {
      throw Error(ErrorKind::kCancelled, "interrupted");
    }
  }
  void report(std::string_view stage, Offset done, Offset total, std::string_view unit) const {
    if (on_progress) on_progress({stage, done, total, unit});
  }
  /// What whoever asks for details may want to know.
  void remark(std::string_view line) const { report(line, 0, 0, {}); }
};

/// Runs `work` so that all parallel loops inside use at most `threads` threads (0: all cores),
/// fewer where `ulimit -v` is tight. Exceptions pass through. Results do not depend on the number.
void with_threads(int threads, const std::function<void()>& work);

/// The number of threads that parallel loops use here.
[[nodiscard]] int thread_count();

/// The widest instruction set in use for our kernels, e.g. "AVX-512", "AVX2", "NEON".
/// The environment variable LIKEWISE_ISA pins one of: scalar, sse4, avx2, avx512, neon.
[[nodiscard]] const char* instruction_set();

}  // namespace likewise
