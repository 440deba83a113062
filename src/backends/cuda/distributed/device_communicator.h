// SPDX-License-Identifier: Apache-2.0
/// `DeviceCommunicator`: what ranks exchange between the memories of their GPUs. The ranks are
/// threads of one process, each with a GPU, or with a share of one; or processes with a GPU each.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "backends/cuda/device/event.h"
#include "backends/cuda/device/memory.h"
#include "backends/cuda/distributed/call_ledger.h"
#include "backends/distributed/communicator.h"
#include "backends/distributed/partition.h"
#include "likewise/control.h"

namespace likewise::cuda {

/// Rows [first, first + count) of a table.
struct RowRange {
  Index first = 0;
  Index count = 0;
};

/// Rows of every rank that travel together.
struct RowChunk {
  std::vector<RowRange> parts;  ///< by rank
  /// Where another stream makes this rank's rows, and is then through with the others' old ones.
  /// Stays as it is until the call returns. Null: the communicator's stream.
  const Event* made = nullptr;
};

/// Spans are memory of this rank's GPU. Calls are put into a stream of the communicator's own,
/// follow() and lead() order it with others, and wait() is where the host waits. A call is over on
/// the GPU, not on return.
///
/// Everything is made of copies from one rank to another, and sums are added up in a kernel in the
/// order of the ranks: the same number of ranks gives the same bits.
class DeviceCommunicator : public Communicator {
 public:
  /// Made by the rank's thread, with its GPU as the current one.
  DeviceCommunicator(int rank, CallLedger& ledger);

  /// Until the next start(): `host` connects the same ranks for numbers on the host, `control` says
  /// when another one failed or the caller wants to stop, `patience` is how long wait() waits.
  void start(Communicator& host, const RunControl& control, std::chrono::milliseconds patience);

  [[nodiscard]] int rank() const final { return rank_; }
  [[nodiscard]] int size() const final { return ledger_.size(); }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }

  /// What is called from now on comes behind what is in `stream` now.
  void follow(cudaStream_t stream);
  /// What comes into `stream` from now on comes behind what was called so far.
  void lead(cudaStream_t stream);

  void all_reduce(std::span<double> values) final;
  void reduce_scatter(std::span<const double> all, std::span<double> own,
                      std::span<const Offset> counts) final;
  void barrier() final { host().barrier(); }
  void abort(const std::string& reason) final {
    host().abort(reason);
    give_up();
  }
  /// Where calls of this rank are not through, as after an error: its GPU ceases to wait for
  /// others, so that its memory can go. Further calls throw.
  virtual void give_up() noexcept {}

  /// Of each chunk rank r's rows parts[r] of a table, which lie at the same place on all ranks, go
  /// to all others.
  void share_rows(std::byte* table, Offset row_bytes, std::span<const RowChunk> chunks);
  /// All rows of all parts.
  void share_rows(std::byte* table, Offset row_bytes, const Partition& parts);

  /// A few bytes of every rank's own memory, to all: as many of each, in the order of the ranks.
  /// Not ordered with the streams: a collective call that is over on return.
  virtual void share_on_host(std::span<const std::byte> own, std::span<std::byte> all);

  /// Whether wait() is a collective call: of processes, which tell each other what they called.
  [[nodiscard]] virtual bool waits_together() const { return false; }
  /// Returns when the GPU is through with all calls so far. Throws as Communicator says, and never
  /// waits for a rank that is gone. Before the host waits for the GPU in another way, wait() has
  /// returned, or the rank gave up.
  void wait();
  /// Returns when the GPU has come to this event, which no later call holds up. Else as wait(), of
  /// ranks that do not wait together.
  void wait_for(const Event& event);

 protected:
  struct Outgoing {
    const std::byte* at = nullptr;
    Offset bytes = 0;
  };
  struct Incoming {
    std::byte* at = nullptr;
    Offset bytes = 0;
  };

  /// out[r] goes to rank r, and in[r] comes from rank r, once `made`, if there is one, is past.
  /// Those of the rank itself are empty.
  struct Parcel {
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    const Event* made = nullptr;
    bool at_once = false;  ///< the GPU has nothing else to do meanwhile
  };
  /// Puts parcels into the stream, the same number on all ranks.
  virtual void exchange(std::span<const Parcel> parcels) = 0;
  /// Throws where the GPUs' connection has failed.
  virtual void check_connection() {}
  /// Before wait() waits: the ledger gets to know the calls of other processes.
  virtual void tell_calls() {}

  [[nodiscard]] Communicator& host() const { return *host_; }
  [[nodiscard]] CallLedger& ledger() { return ledger_; }
  [[nodiscard]] const RunControl& control() const { return *control_; }
  [[nodiscard]] std::chrono::milliseconds patience() const { return patience_; }
  /// Until done(), which other ranks see to. Throws as Communicator says.
  template <class Done>
  void wait_until(const Done& done) {
    constexpr auto kAwake = std::chrono::milliseconds(100);  // to wake up takes as long as a call
    const auto begin = std::chrono::steady_clock::now();
    while (!done()) {
      control_->check();
      check_connection();
      const auto waited = std::chrono::steady_clock::now() - begin;
      if (waited >= patience_) throw_missing();
      if (waited < kAwake) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }
  [[nodiscard]] bool is_through() const { return ledger_.is_through(rank_); }

 private:
  /// Error(kDevice) naming the ranks that did not come in time.
  [[noreturn]] void throw_missing() const;
  void gather_bytes(std::span<const std::byte> own, std::span<std::byte> all,
                    std::span<const Offset> counts, std::size_t size_of_one) final;
  void shift_bytes(int distance, std::span<const std::byte> out, std::span<std::byte> in) final;

  void call(const RankCall& what, Parcel parcel) { call(what, std::span(&parcel, 1)); }
  void call(const RankCall& what, std::span<Parcel> parcels);
  /// For so many numbers of each rank.
  [[nodiscard]] double* parts(Offset count);

  int rank_;
  CallLedger& ledger_;
  Stream stream_;
  Event ordered_;
  Event through_;
  DeviceArray<double> parts_;
  Communicator* host_ = nullptr;
  const RunControl* control_ = nullptr;
  std::chrono::milliseconds patience_{0};
};

/// The GPUs of the ranks, connected: by copies where the ranks are threads of this process, by NCCL
/// where they are processes.
class ConnectedGpus {
 public:
  ConnectedGpus() = default;
  ConnectedGpus(const ConnectedGpus&) = delete;
  ConnectedGpus& operator=(const ConnectedGpus&) = delete;
  virtual ~ConnectedGpus() = default;
  /// By the thread of that rank, with its GPU as the current one. Must not outlive this.
  [[nodiscard]] virtual std::unique_ptr<DeviceCommunicator> join(int rank) = 0;
};

/// devices[r] is the GPU of rank r. Throws Error(kDevice) where GPUs are not of the same kind,
/// whose kernels would not agree; and where some ranks share a GPU and others do not.
[[nodiscard]] std::unique_ptr<ConnectedGpus> connect_gpus(const std::vector<int>& devices);
[[nodiscard]] std::unique_ptr<ConnectedGpus> connect_by_copies(const std::vector<int>& devices);

/// This process's GPU, the current one, with those of the other processes: a collective call of
/// `host`, over which NCCL's id travels. `control` and `patience` as in start(), while they
/// connect. Throws Error(kDevice) naming the rank that did not come. Each process has
/// join(host.rank()).
[[nodiscard]] std::unique_ptr<ConnectedGpus> connect_processes(Communicator& host,
                                                               const RunControl& control,
                                                               std::chrono::milliseconds patience);

}  // namespace likewise::cuda
