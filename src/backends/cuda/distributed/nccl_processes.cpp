// SPDX-License-Identifier: Apache-2.0
/// Ranks that are processes with a GPU each, of one machine or of many, connected by NCCL.
#include <algorithm>
#include <vector>

#include "backends/cuda/distributed/device_communicator.h"
#include "backends/cuda/distributed/nccl_group.h"
#include "backends/cuda/distributed/nccl_process.h"

namespace likewise::cuda {
namespace {

class ProcessCommunicator final : public DeviceCommunicator {
 public:
  ProcessCommunicator(int rank, CallLedger& ledger, NcclProcess& connection)
      : DeviceCommunicator(rank, ledger), connection_(connection) {}

  void give_up() noexcept override {
    if (!is_through()) connection_.give_up();
  }

  [[nodiscard]] bool waits_together() const override { return size() > 1; }

 protected:
  void exchange(std::span<const Parcel> parcels) override {
    for (const Parcel& parcel : parcels) {
      if (parcel.made != nullptr) parcel.made->hold(stream());
      NcclGroup group(connection_.library());
      for (std::size_t other = 0; other < parcel.out.size(); ++other) {
        const Outgoing& out = parcel.out[other];
        const Incoming& in = parcel.in[other];
        group.send(out.at, out.bytes, other, connection_.handle(), stream());
        group.receive(in.at, in.bytes, other, connection_.handle(), stream());
      }
      connection_.settle(group.close(), "ncclGroupEnd", host(), control(), patience());
    }
  }

  void check_connection() override { connection_.check(); }

  /// A rank that does not come is named here, and ranks that call different things are told: NCCL
  /// would wait for ever.
  void tell_calls() override {
    if (!waits_together()) return;
    const std::vector<RankCall> own = ledger().unfinished(rank());
    const auto ranks = static_cast<std::size_t>(size());
    const Offset count = std::ssize(own);
    std::vector<Offset> counts(ranks);
    host().all_gather<Offset>({&count, 1}, counts, std::vector<Offset>(ranks, 1));
    const std::vector<Offset> begins = part_begins(counts);
    std::vector<RankCall> all(static_cast<std::size_t>(begins.back()));
    host().all_gather<RankCall>(own, all, counts);
    for (int other = 0; other < size(); ++other) {
      if (other == rank()) continue;
      const auto r = static_cast<std::size_t>(other);
      for (Offset call = begins[r]; call < begins[r + 1]; ++call) {
        ledger().begin(other, all[static_cast<std::size_t>(call)]);
      }
      ledger().finish(other);
    }
  }

 private:
  NcclProcess& connection_;
};

class ConnectedProcesses final : public ConnectedGpus {
 public:
  ConnectedProcesses(Communicator& host, const RunControl& control,
                     std::chrono::milliseconds patience)
      : ledger_(host.size()), connection_(nccl(), host, control, patience) {
    try {
      connect_pairs(host, control, patience);
    } catch (...) {
      connection_.give_up();
      throw;
    }
  }

  [[nodiscard]] std::unique_ptr<DeviceCommunicator> join(int rank) override {
    return std::make_unique<ProcessCommunicator>(rank, ledger_, connection_);
  }

 private:
  /// NCCL connects two ranks when they first exchange something: here, where all are there.
  void connect_pairs(Communicator& host, const RunControl& control,
                     std::chrono::milliseconds patience) {
    const auto ranks = static_cast<Offset>(host.size());
    DeviceArray<std::byte> memory(2 * ranks);
    const std::unique_ptr<DeviceCommunicator> gpus = join(host.rank());
    gpus->start(host, control, patience);
    const std::vector<Offset> counts(static_cast<std::size_t>(ranks), 1);
    const std::span<std::byte> all(memory.data(), static_cast<std::size_t>(ranks));
    const std::span<const std::byte> own(memory.data() + ranks, 1);
    try {
      gpus->all_gather<std::byte>(own, all, counts);
      gpus->wait();
    } catch (...) {
      gpus->give_up();  // before memory goes
      throw;
    }
  }

  CallLedger ledger_;
  NcclProcess connection_;
};

}  // namespace

std::unique_ptr<ConnectedGpus> connect_processes(Communicator& host, const RunControl& control,
                                                 std::chrono::milliseconds patience) {
  return std::make_unique<ConnectedProcesses>(host, control, patience);
}

}  // namespace likewise::cuda
