// SPDX-License-Identifier: Apache-2.0
/// Sends and receives that are one call of NCCL.
#pragma once

#include "backends/cuda/distributed/nccl_library.h"
#include "likewise/types.h"

namespace likewise::cuda {

/// From here on the calls are one, until close().
class NcclGroup {
 public:
  using Handle = NcclLibrary::Communicator;

  explicit NcclGroup(const NcclLibrary& library) : library_(library) {
    require_nccl(library_, library_.group_start(), "ncclGroupStart");
  }
  ~NcclGroup() {
    if (!closed_) static_cast<void>(library_.group_end());  // a call of the group has failed
  }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  void send(const void* at, Offset bytes, std::size_t to, Handle from, cudaStream_t stream) {
    if (bytes == 0) return;
    require(library_.send(at, static_cast<std::size_t>(bytes), NcclLibrary::kBytes,
                          static_cast<int>(to), from, stream),
            "ncclSend");
  }
  void receive(void* at, Offset bytes, std::size_t from, Handle to, cudaStream_t stream) {
    if (bytes == 0) return;
    require(library_.receive(at, static_cast<std::size_t>(bytes), NcclLibrary::kBytes,
                             static_cast<int>(from), to, stream),
            "ncclRecv");
  }
  /// What NCCL answers to all of them.
  [[nodiscard]] NcclLibrary::Result close() {
    closed_ = true;
    return library_.group_end();
  }

 private:
  /// A connection whose calls return at once says that it is not through.
  void require(NcclLibrary::Result result, const char* call) {
    if (result != NcclLibrary::kInProgress) require_nccl(library_, result, call);
  }

  const NcclLibrary& library_;
  bool closed_ = false;
};

}  // namespace likewise::cuda
