// SPDX-License-Identifier: Apache-2.0
/// Devices of this machine that do one job together: rank r is a thread that computes on device r,
/// by that device's own job.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <vector>

#include "backends/distributed/partition.h"
#include "backends/distributed/transport/thread_ranks.h"
#include "likewise/device.h"

namespace likewise {

struct RankDevices {
  std::vector<Device> devices;  ///< one or more
  std::chrono::milliseconds patience = kRankPatience;

  [[nodiscard]] int size() const { return static_cast<int>(devices.size()); }
  [[nodiscard]] const Device& of(int rank) const { return devices[static_cast<std::size_t>(rank)]; }
};

/// work(device, ranks, control) of one rank.
using DeviceWork =
    std::function<void(const Device& device, Communicator& ranks, const RunControl& control)>;

/// run_thread_ranks() for the first shares.size() devices. What the ranks report of their progress
/// is put together, each by its share of the whole; remarks are those of rank 0. An error of a
/// device (kDevice, kOutOfMemory) begins with its name.
void run_on_devices(const RankDevices& ranks, std::span<const Offset> shares,
                    const RunControl& control, const DeviceWork& work);

/// The same for all devices, with equal shares of `total`.
void run_on_devices(const RankDevices& ranks, Offset total, const RunControl& control,
                    const DeviceWork& work);

/// The parts of [0, rows), of about as many rows each, for at most as many ranks as there are
/// devices: none is empty, unless there is no row at all.
[[nodiscard]] Partition even_parts(const RankDevices& ranks, Index rows);

}  // namespace likewise
