// SPDX-License-Identifier: Apache-2.0
/// The entries of a launch of SGD: on the GPU all the time, or brought there while the launch
/// before it runs.
#pragma once

#include "backends/cuda/device/staging.h"
#include "backends/cuda/host/sgd_work.h"

namespace likewise::cuda {

/// Work on the GPU. The entries stay with the machine where they are streamed.
struct SgdDeviceWork {
  GpuSgdWork host;
  DeviceArray<SgdEntry> entries;  ///< empty where they are streamed
  DeviceArray<SgdTask> tasks;
  DeviceArray<double> losses;
};

class SgdFeed {
 public:
  /// `portion`: most entries of a launch where they are streamed, else 0. `compute` is the stream
  /// of the launches.
  SgdFeed(Offset portion, Staging& staging, cudaStream_t compute);

  /// To the GPU: tasks, and the entries where they are not streamed, which the host gives up then.
  [[nodiscard]] SgdDeviceWork load(GpuSgdWork work);

  /// Where the launch finds its entries, counted from the first of all. Waits until the last launch
  /// but one is through, so that never more than two are in flight.
  [[nodiscard]] const SgdEntry* open(const SgdDeviceWork& work, const SgdLaunch& launch);
  /// Behind the launch.
  void close();

  [[nodiscard]] bool is_streamed() const { return buffers_[0].size() > 0; }

 private:
  void copy(const Array<SgdEntry>& from, Offset first, Offset end, SgdEntry* to,
            cudaStream_t stream);

  Staging& staging_;
  cudaStream_t compute_;
  Stream copying_;
  DeviceArray<SgdEntry> buffers_[2];
  Event loaded_;
  Event done_[2];
  unsigned turn_ = 0;
};

}  // namespace likewise::cuda
