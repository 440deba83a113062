// SPDX-License-Identifier: Apache-2.0
/// How the GPU of a rank works together with those of the others in a half-step of ALS.
#pragma once

#include <array>
#include <vector>

#include "backends/cuda/device/event.h"
#include "backends/cuda/distributed/device_communicator.h"
#include "backends/cuda/host/plugin.h"
#include "backends/distributed/als/als_exchange.h"

namespace likewise::cuda {

/// A rank's place among the others. The plan must outlive it.
class AlsLink {
 public:
  /// `all_resident`: all ranks keep everything on their GPUs.
  AlsLink(const AlsRanksPlan& plan, std::unique_ptr<DeviceCommunicator> gpus, bool all_resident)
      : plan_(plan), gpus_(std::move(gpus)), all_resident_(all_resident) {}

  [[nodiscard]] DeviceCommunicator& gpus() { return *gpus_; }
  [[nodiscard]] int rank() const { return gpus_->rank(); }
  [[nodiscard]] const Partition& parts(Side side) const { return plan_.parts(side); }
  [[nodiscard]] Index first_row(Side side) const { return parts(side).first(rank()); }
  /// Whether ranks may make calls of the next half-step before they hear of this one: all do, or
  /// none.
  [[nodiscard]] bool may_go_ahead() const { return all_resident_ && !gpus_->waits_together(); }

  /// The host is about to wait for this GPU, where `needed`. All ranks call it at the same places:
  /// GPUs of processes wait together.
  void wait(bool needed) {
    if (needed || gpus_->waits_together()) gpus_->wait();
  }
  /// values = their sum over the ranks, behind and before what is in `stream`.
  void add_up(DeviceArray<double>& values, cudaStream_t stream);
  /// All ranks get all rows: each has made its own, at their place among all, in `stream`.
  void share(Side side, std::byte* table, Offset row_bytes, cudaStream_t stream);
  /// All ranks get those of rank 0.
  void take_from_first(DeviceArray<float>& values, cudaStream_t stream);

  /// What comes into `stream` from now on has the rows of all TableShares so far.
  void bring_rows(cudaStream_t stream) { gpus_->lead(stream); }
  /// Adds what the last TableShare took to the traffic, or the one before, where the last is of a
  /// half-step to come. After a wait of the host.
  void note_traffic(bool last_is_to_come);
  /// What this rank has received of fixed sides so far.
  [[nodiscard]] const RankTraffic& traffic() const { return traffic_; }

 private:
  /// A TableShare's way.
  struct Share {
    Offset bytes = 0;
    Timestamp begun;
    Timestamp made;
    Timestamp arrived;
  };
  [[nodiscard]] Share& last_share() { return shares_[last_share_]; }

  const AlsRanksPlan& plan_;
  std::unique_ptr<DeviceCommunicator> gpus_;
  bool all_resident_;
  RankTraffic traffic_;
  std::vector<Event> chunk_made_;
  std::array<Share, 2> shares_;  ///< the last ones, in turns
  std::size_t last_share_ = 0;

  friend class TableShare;
};

/// The table of a fixed side on its way to the other GPUs, in chunks: one travels while the next
/// one is made. Each rank makes its own rows, in order, at their place among all. The host puts all
/// of that into the stream before it meets the other ranks, so that the GPU does not wait for them.
class TableShare {
 public:
  /// `stream` is that of who makes the rows.
  TableShare(AlsLink& link, Side side, std::byte* table, Offset row_bytes, cudaStream_t stream);

  /// The row of this rank, counted from its first, up to which the current chunk goes.
  [[nodiscard]] Index chunk_end() const { return range(chunk_, link_.rank()).end; }
  /// Rows before `end` are made, by what is in the stream.
  void made(Index end);
  /// All rows are made. They go to the others.
  void send();

 private:
  struct Range {
    Index begin = 0;
    Index end = 0;
  };
  [[nodiscard]] Range range(int chunk, int rank) const;

  AlsLink& link_;
  const Partition& parts_;
  std::byte* table_;
  Offset row_bytes_;
  cudaStream_t stream_;
  int chunks_;
  int chunk_ = 0;  ///< the next one to be made
};

}  // namespace likewise::cuda
