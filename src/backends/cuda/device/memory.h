// SPDX-License-Identifier: Apache-2.0
/// Owners of what lives on a GPU: memory, page-locked host memory, streams, events. All move-only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <span>
#include <utility>
#include <vector>

#include "backends/cuda/device/check.h"
#include "likewise/types.h"

namespace likewise::cuda {

class Stream {
 public:
  Stream() { LIKEWISE_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  /// One whose kernels start before those of others that wait.
  [[nodiscard]] static Stream first_in_line() {
    int last = 0;
    int first = 0;
    LIKEWISE_CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&last, &first));
    Stream stream;
    LIKEWISE_CUDA_CHECK(cudaStreamDestroy(std::exchange(stream.stream_, nullptr)));
    LIKEWISE_CUDA_CHECK(
        cudaStreamCreateWithPriority(&stream.stream_, cudaStreamNonBlocking, first));
    return stream;
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // NOLINTNEXTLINE(google-explicit-constructor): every CUDA call takes the plain handle
  operator cudaStream_t() const { return stream_; }
  void synchronize() const { LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

namespace detail {

struct DeviceAllocation {
  static void* take(std::size_t bytes);
  static void release(void* at) noexcept;
};
struct PinnedAllocation {
  static void* take(std::size_t bytes);
  static void release(void* at) noexcept;
};

/// `size` numbers that live until the owner goes. Never initialised.
template <class T, class Allocation>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(Offset size)
      : data_(size == 0
                  ? nullptr
                  : static_cast<T*>(Allocation::take(static_cast<std::size_t>(size) * sizeof(T)))),
        size_(size) {}
  ~Buffer() { Allocation::release(data_); }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] Offset size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }

 private:
  T* data_ = nullptr;
  Offset size_ = 0;
};

}  // namespace detail

/// Memory of the current GPU.
template <class T>
using DeviceArray = detail::Buffer<T, detail::DeviceAllocation>;
/// Host memory that copies at full speed and beside kernels.
template <class T>
using PinnedArray = detail::Buffer<T, detail::PinnedAllocation>;

/// Bytes of the current GPU that a training may take: what is free, less a reserve, and at most
/// `limit` where that is not 0.
[[nodiscard]] Offset available_bytes(Offset limit);

/// Where an array would begin whose element `first` is at `at`: kernels that count rows or entries
/// from the beginning of a matrix get a part of it so. Only what is there may be touched.
template <class T>
[[nodiscard]] T* moved_back(T* at, Offset first) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(at) -
                              static_cast<std::uintptr_t>(first) * sizeof(T));
}

template <class T>
void copy_to_device(T* to, const T* from, Offset count, cudaStream_t stream) {
  if (count == 0) return;
  LIKEWISE_CUDA_CHECK(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(T),
                                      cudaMemcpyHostToDevice, stream));
}

template <class T>
void copy_to_host(T* to, const T* from, Offset count, cudaStream_t stream) {
  if (count == 0) return;
  LIKEWISE_CUDA_CHECK(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(T),
                                      cudaMemcpyDeviceToHost, stream));
}

template <class T>
void fill_zero(T* at, Offset count, cudaStream_t stream) {
  if (count == 0) return;
  LIKEWISE_CUDA_CHECK(cudaMemsetAsync(at, 0, static_cast<std::size_t>(count) * sizeof(T), stream));
}

/// Room for `size` numbers: the array's own, or new memory where it has less. What was there is
/// lost.
template <class T>
[[nodiscard]] T* room_for(DeviceArray<T>& array, Offset size) {
  if (array.size() < size) {
    array = DeviceArray<T>();  // before the new memory is taken
    array = DeviceArray<T>(size);
  }
  return array.data();
}

template <class T>
[[nodiscard]] const T* upload_into(DeviceArray<T>& array, const T* from, Offset count,
                                   cudaStream_t stream) {
  T* const to = room_for(array, count);
  copy_to_device(to, from, count, stream);
  return to;
}

/// A copy on the GPU of a vector or span; waits for it.
template <class Values>
[[nodiscard]] auto to_device(const Values& values, cudaStream_t stream) {
  DeviceArray<std::remove_cv_t<typename Values::value_type>> copy(std::ssize(values));
  copy_to_device(copy.data(), values.data(), copy.size(), stream);
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));
  return copy;
}

}  // namespace likewise::cuda
