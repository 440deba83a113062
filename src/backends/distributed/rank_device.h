// SPDX-License-Identifier: Apache-2.0
/// What ranks that are processes must know of each other's devices before they train together.
#pragma once

#include <string>

#include "backends/distributed/communicator.h"

namespace likewise {

struct RankDevice {
  std::string name;        ///< "cuda:1"
  std::string kind;        ///< the same on all ranks: "Fine GPU with 132 multiprocessors"
  std::string hardware;    ///< that no other rank may have: a GPU's UUID; empty: nothing
  std::string connection;  ///< the same on all ranks: "NCCL 2.28.9"; empty: nothing but TCP
  std::string problem;     ///< why it cannot train with others, and what to do; empty where it can
};

/// Throws Error(kInvalidArgument), the same on all ranks, naming the ranks and hosts whose devices
/// cannot train together. A collective call; `mine` is the caller's.
void require_devices_together(Communicator& ranks, const RankDevice& mine);

}  // namespace likewise
