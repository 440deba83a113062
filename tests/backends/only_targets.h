// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <hwy/targets.h>

namespace likewise::test {

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
