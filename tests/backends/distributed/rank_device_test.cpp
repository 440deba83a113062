// SPDX-License-Identifier: Apache-2.0
/// Whether the devices of ranks may train together is found by all of them, and told the same.
#include "backends/distributed/rank_device.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/error.h"
#include "tests/backends/distributed/rank_kinds.h"
#include "tests/errors.h"

namespace likewise {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const RankDevice kGpu{"cuda:0", "a GPU", "GPU-0", "NCCL 2.28.9", {}};

[[nodiscard]] RankDevice gpu(const std::string& uuid) {
  RankDevice device = kGpu;
  device.hardware = uuid;
  return device;
}

/// What all ranks say; empty where they may train together.
[[nodiscard]] std::string refusal(const std::vector<RankDevice>& devices) {
  std::vector<std::string> said(devices.size());
  test::run_ranks(test::RankKind::kSockets, static_cast<int>(devices.size()),
                  std::chrono::seconds(20), {}, [&](Communicator& ranks, const RunControl&) {
                    const auto r = static_cast<std::size_t>(ranks.rank());
                    try {
                      require_devices_together(ranks, devices[r]);
                    } catch (const Error& error) {
                      EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
                      said[r] = error.what();
                    }
                  });
  EXPECT_EQ(std::set(said.begin(), said.end()).size(), 1U) << said.front() << "; " << said.back();
  return said.front();
}

TEST(RankDevices, OfOneKindMayTrainTogether) {
  EXPECT_EQ(refusal({gpu("GPU-0")}), "");
  EXPECT_EQ(refusal({gpu("GPU-0"), gpu("GPU-1"), gpu("GPU-2")}), "");
  const RankDevice cpu{"cpu", "a processor", {}, {}, {}};
  EXPECT_EQ(refusal({cpu, cpu, cpu}), "");
}

TEST(RankDevices, OneGpuIsOfOneRank) {
  EXPECT_THAT(refusal({gpu("GPU-0"), gpu("GPU-7"), gpu("GPU-7")}),
              AllOf(HasSubstr("rank 1 on "), HasSubstr(" (cuda:0) and rank 2 on "),
                    HasSubstr("have the same GPU")));
}

TEST(RankDevices, AnotherVersionOfNcclIsNamed) {
  RankDevice old = gpu("GPU-1");
  old.connection = "NCCL 2.20.5";
  EXPECT_THAT(refusal({gpu("GPU-0"), old}),
              AllOf(HasSubstr(" has NCCL 2.28.9 and rank 1 on "),
                    HasSubstr(" has NCCL 2.20.5: install one version on all machines")));
}

TEST(RankDevices, AProblemIsToldWithItsRank) {
  RankDevice alone = gpu("GPU-1");
  alone.problem = "NCCL is missing";
  EXPECT_THAT(refusal({gpu("GPU-0"), gpu("GPU-2"), alone}),
              AllOf(HasSubstr("rank 2 on "), HasSubstr(" (cuda:0): NCCL is missing")));
}

}  // namespace
}  // namespace likewise
