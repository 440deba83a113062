// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <hwy/targets.h>

namespace likewise::test {

/// The instruction sets of this processor that the library is compiled for.
[[nodiscard]] inline std::vector<std::int64_t> all_targets() {
  std::vector<std::int64_t> all;
  for (const std::int64_t target : {HWY_SSE4, HWY_AVX2, HWY_AVX3, HWY_NEON}) {
    if ((hwy::SupportedTargets() & HWY_TARGETS & target) != 0) all.push_back(target);
  }
  return all;
}

/// Lets Highway use only `targets` for a while.
class OnlyTargets {
 public:
  explicit OnlyTargets(std::int64_t targets) { use(targets); }
  ~OnlyTargets() { use(before_); }
  OnlyTargets(const OnlyTargets&) = delete;
  OnlyTargets& operator=(const OnlyTargets&) = delete;

 private:
  static void use(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  std::int64_t before_ = hwy::SupportedTargets();
};

}  // namespace likewise::test
