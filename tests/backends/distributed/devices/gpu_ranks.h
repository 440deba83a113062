// SPDX-License-Identifier: Apache-2.0
/// Tests of trainings on several GPUs, for any number of ranks. Ranks that share a GPU run wherever
/// there is one; ranks with a GPU each where there are as many.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cuda/host/load_plugin.h"
#include "tests/backends/device_test.h"

namespace likewise::test {

struct GpuRanks {
  int ranks = 1;
  bool shared = true;  ///< all on GPU 0, else each on its own

  [[nodiscard]] std::vector<int> devices() const {
    std::vector<int> all;
    for (int rank = 0; rank < ranks; ++rank) all.push_back(shared ? 0 : rank);
    return all;
  }
};
inline void PrintTo(const GpuRanks& one, std::ostream* to) {
  *to << one.ranks << (one.shared ? " on one GPU" : " on GPUs of their own");
}

class GpuRanksTest : public DeviceTest<GpuRanks> {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || GetParam().shared) return;
    const auto gpus = static_cast<int>(load_cuda_plugin().find_gpus().gpus.size());
    if (gpus < GetParam().ranks) {
      GTEST_SKIP() << "a GPU for each of " << GetParam().ranks << " ranks is needed; there "
                   << (gpus == 1 ? "is " : "are ") << gpus;
    }
  }
};

inline const auto kGpuRanks =
    testing::Values(GpuRanks{1, true}, GpuRanks{2, true}, GpuRanks{3, true}, GpuRanks{5, true},
                    GpuRanks{2, false}, GpuRanks{4, false});
inline std::string name_of_ranks(const testing::TestParamInfo<GpuRanks>& test) {
  return fmt::format("{}{}", test.param.shared ? "Sharing" : "Apart", test.param.ranks);
}

}  // namespace likewise::test
