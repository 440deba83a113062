// SPDX-License-Identifier: Apache-2.0
/// A point in a stream's work that others wait for.
#pragma once

#include <cuda_runtime_api.h>
#include <utility>

#include "backends/cuda/device/check.h"

namespace likewise::cuda {

class Event {
 public:
  Event() { LIKEWISE_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Behind all that is in the stream now.
  void record(cudaStream_t stream) { LIKEWISE_CUDA_CHECK(cudaEventRecord(event_, stream)); }
  /// The host waits; not at all before the first record().
  void wait() const { LIKEWISE_CUDA_CHECK(cudaEventSynchronize(event_)); }
  /// The same, for destructors.
  void settle() const noexcept { static_cast<void>(cudaEventSynchronize(event_)); }
  /// What comes into the stream from now on waits.
  void hold(cudaStream_t stream) const {
    LIKEWISE_CUDA_CHECK(cudaStreamWaitEvent(stream, event_, 0));
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace likewise::cuda
