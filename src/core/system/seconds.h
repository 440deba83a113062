// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace likewise {

/// How long `work` takes.
template <class Work>
double seconds_of(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace likewise
