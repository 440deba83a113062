// SPDX-License-Identifier: Apache-2.0
/// The functions of NCCL that ranks which are processes need, found when they are needed: the
/// plug-in works without NCCL elsewhere. Declared here, so that it is built without NCCL too;
/// version 2.14 is the first that has them all.
#pragma once

#include <cstddef>
#include <cuda_runtime_api.h>
#include <string>

namespace likewise::cuda {

struct NcclLibrary {
  using Communicator = struct ncclComm*;
  using Result = int;
  /// By which processes find each other.
  struct Id {
    char bytes[128];
  };
  /// ncclConfig_t as version 2.14 had it; newer ones read as much of it as it says to have.
  struct Config {
    std::size_t size = sizeof(Config);
    unsigned magic = 0xcafebeef;
    unsigned version = 21400;
    int blocking = 0;  ///< calls return before they are through
  };
  static constexpr Result kSuccess = 0;
  static constexpr Result kInProgress = 7;
  static constexpr int kBytes = 0;  ///< ncclInt8

  const char* (*error_text)(Result);
  const char* (*last_error)(Communicator);
  Result (*version)(int*);
  Result (*unique_id)(Id*);
  Result (*init_rank)(Communicator*, int ranks, Id, int rank, Config*);
  Result (*finalize)(Communicator);
  Result (*destroy)(Communicator);
  Result (*abort)(Communicator);
  Result (*async_error)(Communicator, Result*);
  Result (*group_start)();
  Result (*group_end)();
  Result (*send)(const void*, std::size_t, int type, int to, Communicator, cudaStream_t);
  Result (*receive)(void*, std::size_t, int type, int from, Communicator, cudaStream_t);
};

/// From a file, or a name as dlopen() takes it. Never closed. Throws Error(kDevice) saying what is
/// missing and what to install.
[[nodiscard]] NcclLibrary load_nccl(const char* file);

/// That of this process: next to the plug-in, else the system's libnccl.so.2. Loaded once.
[[nodiscard]] const NcclLibrary& nccl();

/// Why nccl() throws; empty where it does not.
[[nodiscard]] std::string connection_problem();

/// "NCCL 2.28.9". Throws as nccl().
[[nodiscard]] std::string connection();

/// Throws Error(kDevice) naming the call and the reason where `result` is not success.
void require_nccl(const NcclLibrary& library, NcclLibrary::Result result, const char* call);

}  // namespace likewise::cuda
