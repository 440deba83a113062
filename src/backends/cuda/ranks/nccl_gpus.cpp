// SPDX-License-Identifier: Apache-2.0
/// Ranks that have a GPU each, connected by NCCL.
///
/// Everything is sends and receives between pairs: they take parts of any size, have no order of
/// sums to choose, and on GPUs that all reach each other directly are as fast as rings.
#include <algorithm>
#include <utility>

#include "backends/cuda/ranks/device_communicator.h"
#include "backends/cuda/ranks/nccl_group.h"

namespace likewise::cuda {
namespace {

using Handle = NcclLibrary::Communicator;

/// A rank's calls. Once the ranks are connected, NCCL only puts kernels into streams, so no call
/// waits for another rank: its thread is free to see that one is gone, and to abort its own part.
class NcclCommunicator final : public DeviceCommunicator {
 public:
  NcclCommunicator(int rank, CallLedger& ledger, const NcclLibrary& library, Handle& handle)
      : DeviceCommunicator(rank, ledger), library_(library), handle_(handle) {}

  void give_up() noexcept override {
    if (handle_ == nullptr || is_through()) return;
    static_cast<void>(library_.abort(std::exchange(handle_, nullptr)));
  }

 protected:
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    require_handle();
    NcclGroup group(library_);
    for (std::size_t other = 0; other < out.size(); ++other) {
      group.send(out[other].at, out[other].bytes, other, handle_, stream());
      group.receive(in[other].at, in[other].bytes, other, handle_, stream());
    }
    require_nccl(library_, group.close(), "ncclGroupEnd");
  }

  void check_connection() override {
    require_handle();
    NcclLibrary::Result result = NcclLibrary::kSuccess;
    require_nccl(library_, library_.async_error(handle_, &result), "ncclCommGetAsyncError");
    if (result != NcclLibrary::kInProgress) require_nccl(library_, result, "an exchange");
  }

 private:
  void require_handle() const {
    if (handle_ == nullptr) throw Error(ErrorKind::kDevice, "the connection was given up before");
  }

  const NcclLibrary& library_;
  Handle& handle_;
};

class NcclGpus final : public ConnectedGpus {
 public:
  explicit NcclGpus(const std::vector<int>& devices)
      : library_(nccl()), ledger_(static_cast<int>(devices.size())), handles_(devices.size()) {
    require_nccl(
        library_,
        library_.init_all(handles_.data(), static_cast<int>(devices.size()), devices.data()),
        "ncclCommInitAll");
    // Given back behind the connection, which may still write to it.
    std::vector<Stream> streams;
    std::vector<DeviceArray<std::byte>> memory;
    try {
      connect_pairs(devices, streams, memory);
    } catch (...) {
      abort_all();
      throw;
    }
  }
  ~NcclGpus() override {
    if (std::ranges::find(handles_, nullptr) != handles_.end()) abort_all();
    for (const Handle handle : handles_) {
      if (handle != nullptr) static_cast<void>(library_.destroy(handle));
    }
  }

  [[nodiscard]] std::unique_ptr<DeviceCommunicator> join(int rank) override {
    return std::make_unique<NcclCommunicator>(rank, ledger_, library_,
                                              handles_[static_cast<std::size_t>(rank)]);
  }

 private:
  /// NCCL connects two ranks when they first exchange something, and waits for both. Here one
  /// thread calls for all, so that both are there.
  void connect_pairs(const std::vector<int>& devices, std::vector<Stream>& streams,
                     std::vector<DeviceArray<std::byte>>& memory) {
    const auto ranks = static_cast<Offset>(devices.size());
    for (const int device : devices) {
      LIKEWISE_CUDA_CHECK(cudaSetDevice(device));
      streams.emplace_back();
      memory.emplace_back(2 * ranks);
    }
    NcclGroup group(library_);
    for (std::size_t rank = 0; rank < devices.size(); ++rank) {
      std::byte* const mine = memory[rank].data();
      for (std::size_t other = 0; other < devices.size(); ++other) {
        if (other == rank) continue;
        group.send(mine, 1, other, handles_[rank], streams[rank]);
        group.receive(mine + ranks + other, 1, other, handles_[rank], streams[rank]);
      }
    }
    require_nccl(library_, group.close(), "ncclGroupEnd");
    for (const Stream& stream : streams) stream.synchronize();
    LIKEWISE_CUDA_CHECK(cudaSetDevice(devices.front()));
  }

  void abort_all() noexcept {
    for (Handle& handle : handles_) {
      if (handle != nullptr) static_cast<void>(library_.abort(std::exchange(handle, nullptr)));
    }
  }

  const NcclLibrary& library_;
  CallLedger ledger_;
  std::vector<Handle> handles_;
};

}  // namespace

std::unique_ptr<ConnectedGpus> connect_by_nccl(const std::vector<int>& devices) {
  return std::make_unique<NcclGpus>(devices);
}

}  // namespace likewise::cuda
