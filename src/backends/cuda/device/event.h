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
  /// Whether all that wait() waits for is done.
  [[nodiscard]] bool is_past() const {
    const cudaError_t status = cudaEventQuery(event_);
    if (status != cudaErrorNotReady) LIKEWISE_CUDA_CHECK(status);
    static_cast<void>(cudaGetLastError());  // "not ready" is an answer, not the failure of a call
    return status == cudaSuccess;
  }
  /// What comes into the stream from now on waits.
  void hold(cudaStream_t stream) const {
    LIKEWISE_CUDA_CHECK(cudaStreamWaitEvent(stream, event_, 0));
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// When a stream comes to a point in its work.
class Timestamp {
 public:
  Timestamp() { LIKEWISE_CUDA_CHECK(cudaEventCreate(&event_)); }
  ~Timestamp() { cudaEventDestroy(event_); }
  Timestamp(const Timestamp&) = delete;
  Timestamp& operator=(const Timestamp&) = delete;

  void record(cudaStream_t stream) { LIKEWISE_CUDA_CHECK(cudaEventRecord(event_, stream)); }
  /// Seconds; the host waits for both. Below 0 where the other one was first.
  [[nodiscard]] double until(const Timestamp& later) const {
    float milliseconds = 0.0F;
    LIKEWISE_CUDA_CHECK(cudaEventSynchronize(event_));
    LIKEWISE_CUDA_CHECK(cudaEventSynchronize(later.event_));
    LIKEWISE_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, event_, later.event_));
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace likewise::cuda
