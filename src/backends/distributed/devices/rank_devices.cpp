// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/devices/rank_devices.h"

#include <algorithm>
#include <mutex>
#include <numeric>

#include <fmt/format.h>

#include "backends/distributed/partition.h"
#include "likewise/error.h"

namespace likewise {
namespace {

/// How far all ranks are, from what each of them reports.
class SharedProgress {
 public:
  SharedProgress(std::span<const Offset> shares, const RunControl& control)
      : shares_(shares.begin(), shares.end()),
        done_(shares.size()),
        total_(std::accumulate(shares.begin(), shares.end(), Offset{0})),
        control_(control) {}

  void take(std::size_t rank, const ProgressUpdate& update) {
    const std::lock_guard lock(mutex_);
    if (update.unit.empty()) {
      if (rank == 0) control_.remark(update.stage);
      return;
    }
    const Offset share = shares_[rank];
    const double part = update.total > 0
                            ? static_cast<double>(update.done) / static_cast<double>(update.total)
                            : 0.0;
    done_[rank] = std::min(share, static_cast<Offset>(part * static_cast<double>(share)));
    control_.report(update.stage, std::accumulate(done_.begin(), done_.end(), Offset{0}), total_,
                    update.unit);
  }

 private:
  std::mutex mutex_;
  std::vector<Offset> shares_;
  std::vector<Offset> done_;
  Offset total_;
  const RunControl& control_;
};

void run_named(const Device& device, const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kDevice && error.kind() != ErrorKind::kOutOfMemory) throw;
    throw Error(error.kind(), fmt::format("{}: {}", device.name(), error.what()));
  }
}

}  // namespace

void run_on_devices(const RankDevices& ranks, std::span<const Offset> shares,
                    const RunControl& control, const DeviceWork& work) {
  SharedProgress progress(shares, control);
  run_thread_ranks(static_cast<int>(shares.size()), ranks.patience, control,
                   [&](Communicator& communicator, const RunControl& stop) {
                     const int rank = communicator.rank();
                     RunControl own = stop;
                     own.on_progress = [&](const ProgressUpdate& update) {
                       progress.take(static_cast<std::size_t>(rank), update);
                     };
                     const Device& device = ranks.of(rank);
                     run_named(device, [&] { work(device, communicator, own); });
                   });
}

void run_on_devices(const RankDevices& ranks, Offset total, const RunControl& control,
                    const DeviceWork& work) {
  std::vector<Offset> shares;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    shares.push_back(total * (rank + 1) / ranks.size() - total * rank / ranks.size());
  }
  run_on_devices(ranks, shares, control, work);
}

Partition even_parts(const RankDevices& ranks, Index rows) {
  return cut_evenly(rows, static_cast<int>(std::clamp<Index>(rows, 1, ranks.size())));
}

}  // namespace likewise
