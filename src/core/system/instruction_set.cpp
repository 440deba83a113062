// SPDX-License-Identifier: Apache-2.0
#include "core/system/instruction_set.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include "likewise/control.h"
#include "likewise/error.h"

namespace likewise {
namespace {

/// LIKEWISE_ISA's names and the Highway targets that each allows.
struct Level {
  std::string_view name;
  std::int64_t targets;
};
constexpr Level kLevels[] = {
    {"scalar", HWY_STATIC_TARGET}, {"sse4", HWY_SSE4}, {"avx2", HWY_AVX2},
    {"avx512", HWY_AVX3},          {"neon", HWY_NEON},
};

/// Applies LIKEWISE_ISA once and returns the chosen target.
std::int64_t choose() {
  const char* wanted = std::getenv("LIKEWISE_ISA");
  if (wanted != nullptr && *wanted != '\0') {
    std::int64_t targets = 0;
    for (const Level& level : kLevels) {
      if (level.name == wanted) targets = level.targets;
    }
    if (targets == 0) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("LIKEWISE_ISA={}: use scalar, sse4, avx2, avx512 or neon", wanted));
    }
    if ((targets & HWY_TARGETS & (hwy::SupportedTargets() | HWY_STATIC_TARGET)) == 0) {
      throw Error(ErrorKind::kDevice,
                  fmt::format("LIKEWISE_ISA={}: this processor or build does not have it", wanted));
    }
    hwy::SetSupportedTargetsForTest(targets);
  }
  const std::int64_t usable = (hwy::SupportedTargets() & HWY_TARGETS) | HWY_STATIC_TARGET;
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return usable & -usable;  // a smaller bit is a better target
}

}  // namespace

std::int64_t chosen_target() {
  static const std::int64_t target = choose();
  return target;
}

const char* instruction_set() {
  const char* name = hwy::TargetName(chosen_target());
  return std::string_view(name).starts_with("AVX3") ? "AVX-512" : name;
}

}  // namespace likewise
