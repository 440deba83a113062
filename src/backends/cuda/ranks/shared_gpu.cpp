// SPDX-License-Identifier: Apache-2.0
/// Ranks that share one GPU: each copies what others send out of their memory. For tests on one
/// GPU, and what the connection by NCCL is compared with.
#include <algorithm>

#include "backends/cuda/ranks/device_communicator.h"
#include "likewise/error.h"

namespace likewise::cuda {
namespace {

class SharedGpuCommunicator final : public DeviceCommunicator {
 public:
  SharedGpuCommunicator(int rank, CallLedger& ledger) : DeviceCommunicator(rank, ledger) {}

 protected:
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    ready_.record(stream());
    std::vector<Post> own;
    for (const Outgoing& one : out) own.push_back({one, &ready_, &copied_});
    const auto ranks = static_cast<std::size_t>(size());
    std::vector<Post> all(ranks * ranks);
    const std::vector<Offset> counts(ranks, size());
    host().all_gather<Post>(own, all, counts);
    for (std::size_t from = 0; from < ranks; ++from) {
      const Post& post = all[from * ranks + static_cast<std::size_t>(rank())];
      if (post.out.bytes != in[from].bytes) {
        throw unexpected_bytes(static_cast<int>(from), post.out.bytes, rank(), in[from].bytes);
      }
      if (post.out.bytes == 0) continue;
      post.ready->hold(stream());
      LIKEWISE_CUDA_CHECK(cudaMemcpyAsync(in[from].at, post.out.at,
                                          static_cast<std::size_t>(post.out.bytes),
                                          cudaMemcpyDeviceToDevice, stream()));
    }
    // Nobody writes what others still copy. An event is recorded anew only behind a meeting that
    // comes after all have given their streams this one to wait for.
    copied_.record(stream());
    host().barrier();
    for (std::size_t from = 0; from < ranks; ++from) all[from * ranks].copied->hold(stream());
  }

 private:
  struct Post {
    Outgoing out;
    const Event* ready = nullptr;
    const Event* copied = nullptr;
  };

  Event ready_;   ///< what this rank sends may be read
  Event copied_;  ///< this rank has what others sent
};

class SharedGpu final : public ConnectedGpus {
 public:
  explicit SharedGpu(int ranks) : ledger_(ranks) {}
  [[nodiscard]] std::unique_ptr<DeviceCommunicator> join(int rank) override {
    return std::make_unique<SharedGpuCommunicator>(rank, ledger_);
  }

 private:
  CallLedger ledger_;
};

}  // namespace

std::unique_ptr<ConnectedGpus> connect_by_copies(int ranks) {
  return std::make_unique<SharedGpu>(ranks);
}

}  // namespace likewise::cuda
