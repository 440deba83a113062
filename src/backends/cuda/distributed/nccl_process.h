// SPDX-License-Identifier: Apache-2.0
/// This process's part of a connection by NCCL with other processes. Needs no GPU but by what NCCL
/// itself does.
///
/// NCCL's calls wait for other ranks, and one that is gone would never come. So the connection is
/// of the kind whose calls return at once: whoever called looks, in turn, whether NCCL is through
/// and whether the training goes on, and gives its part up where it does not.
#pragma once

#include <chrono>
#include <functional>

#include "backends/cuda/distributed/nccl_library.h"
#include "backends/distributed/communicator.h"
#include "likewise/control.h"

namespace likewise::cuda {

class NcclProcess {
 public:
  /// A collective call: rank 0's id goes to all over `host`, then NCCL connects. Throws
  /// Error(kDevice) naming the rank that did not come within `patience`, or what NCCL said.
  NcclProcess(const NcclLibrary& library, Communicator& host, const RunControl& control,
              std::chrono::milliseconds patience);
  /// Leaves together with the others, waiting for them a moment, unless it was given up.
  ~NcclProcess();
  NcclProcess(const NcclProcess&) = delete;
  NcclProcess& operator=(const NcclProcess&) = delete;

  [[nodiscard]] const NcclLibrary& library() const { return library_; }
  /// Throws Error(kDevice) after give_up().
  [[nodiscard]] NcclLibrary::Communicator handle() const;

  /// What one call of NCCL answered: returns when NCCL is through with it. Throws as `control`,
  /// Error(kDevice) with what NCCL said, and naming the rank that does not answer on `host` either
  /// after `patience`.
  void settle(NcclLibrary::Result result, const char* call, Communicator& host,
              const RunControl& control, std::chrono::milliseconds patience);
  /// Throws where the connection has failed.
  void check() const;
  /// No call waits for others from here on, on the GPU either.
  void give_up() noexcept;

 private:
  /// Whether NCCL is through; throws where it failed.
  [[nodiscard]] bool is_resolved(const char* call) const;
  [[nodiscard]] bool leave() const;

  const NcclLibrary& library_;
  NcclLibrary::Communicator handle_ = nullptr;
};

}  // namespace likewise::cuda
