// SPDX-License-Identifier: Apache-2.0
/// Devices for tests of jobs over ranks: several times the CPU, and devices that fail.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "backends/cpu/jobs.h"
#include "backends/cuda/host/load_plugin.h"
#include "backends/distributed/devices/rank_devices.h"
#include "likewise/control.h"
#include "likewise/error.h"

namespace likewise::test {

inline constexpr int kRankCounts[] = {1, 2, 3, 5};

[[nodiscard]] inline RankDevices cpu_ranks(int size) {
  return {std::vector<Device>(static_cast<std::size_t>(size), make_cpu_device()),
          std::chrono::seconds(60)};
}

/// Where `device` is "cuda", on all GPUs in turn, so that ranks share them where they are more;
/// else as cpu_ranks().
[[nodiscard]] inline RankDevices ranks_on(const std::string& device, int size) {
  RankDevices ranks = cpu_ranks(size);
  if (device != "cuda") return ranks;
  const auto gpus = static_cast<int>(load_cuda_plugin().find_gpus().gpus.size());
  for (int rank = 0; rank < size; ++rank) {
    ranks.devices[static_cast<std::size_t>(rank)] =
        open_device("cuda:" + std::to_string(rank % gpus));
  }
  return ranks;
}

/// What a failing device does in place of its job.
enum class Fault {
  kThrows,      ///< Error(kNumerical)
  kDeviceLost,  ///< Error(kDevice)
  kHangs,       ///< until it is told to stop
};
inline constexpr Fault kFaults[] = {Fault::kThrows, Fault::kDeviceLost, Fault::kHangs};

/// Never returns.
[[noreturn]] inline void fail(Fault fault, const RunControl& control) {
  if (fault == Fault::kThrows) throw Error(ErrorKind::kNumerical, "a pivot fell over");
  if (fault == Fault::kDeviceLost) throw Error(ErrorKind::kDevice, "the GPU fell off the bus");
  while (true) {
    control.check();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// `size` CPUs, of which the last one does `table` instead, as "lost:0".
[[nodiscard]] inline RankDevices with_failing(int size, JobTable table) {
  RankDevices ranks = cpu_ranks(size);
  ranks.patience = std::chrono::seconds(1);
  ranks.devices.back() = make_device(
      "lost:0", [] { return std::string("fails"); }, std::move(table));
  return ranks;
}

}  // namespace likewise::test
