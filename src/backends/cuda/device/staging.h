// SPDX-License-Identifier: Apache-2.0
/// Copies between ordinary host memory and the GPU at the bus's full speed: through two pinned
/// buffers, one on the bus while all cores fill or empty the other.
#pragma once

#include <algorithm>
#include <array>

#include "backends/cuda/device/event.h"
#include "backends/cuda/device/memory.h"

namespace likewise::cuda {

class Staging {
 public:
  /// Buffers for copies of at most so many bytes; longer ones go in parts.
  explicit Staging(Offset most_bytes) : bytes_(std::clamp(most_bytes, kLeastBytes, kMostBytes)) {}
  ~Staging() {
    for (const Buffer& buffer : buffers_) buffer.copied.settle();  // the copies still read them
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Copies `count` units to `to`: fill(buffer, first, n) puts units [first, first + n) into a
  /// pinned buffer. Returns when the last of them is filled; the copies are in the stream.
  template <class T, class Fill>
  void upload(T* to, Offset count, Offset unit, const Fill& fill, cudaStream_t stream) {
    for (Offset first = 0; first < count; first += units(unit, sizeof(T))) {
      const Offset n = std::min(units(unit, sizeof(T)), count - first);
      Buffer& buffer = next_buffer();
      T* const pinned = reinterpret_cast<T*>(buffer.memory.data());
      fill(pinned, first, n);
      copy_to_device(to + first * unit, pinned, n * unit, stream);
      buffer.copied.record(stream);
    }
  }

  /// Copies `count` units from `from`: drain(buffer, first, n) takes units [first, first + n) from
  /// a pinned buffer. Returns when all is taken.
  template <class T, class Drain>
  void download(const T* from, Offset count, Offset unit, const Drain& drain, cudaStream_t stream) {
    download(
        from, count, unit, [](Offset) {}, drain, stream);
  }

  /// The same; before units behind `end` - 1 are copied, made(end) lets the stream wait for those
  /// before it.
  template <class T, class Made, class Drain>
  void download(const T* from, Offset count, Offset unit, const Made& made, const Drain& drain,
                cudaStream_t stream) {
    const Offset each = units(unit, sizeof(T));
    Buffer* before = nullptr;
    for (Offset first = 0; first < count + each; first += each) {
      Buffer* now = nullptr;
      if (first < count) {
        now = &next_buffer();
        made(std::min(first + each, count));
        copy_to_host(reinterpret_cast<T*>(now->memory.data()), from + first * unit,
                     std::min(each, count - first) * unit, stream);
        now->copied.record(stream);
      }
      if (before != nullptr) {
        before->copied.wait();
        drain(reinterpret_cast<const T*>(before->memory.data()), first - each,
              std::min(each, count - first + each));
      }
      before = now;
    }
  }

 private:
  static constexpr Offset kLeastBytes = Offset{1} << 16;
  static constexpr Offset kMostBytes = Offset{32} << 20;

  struct Buffer {
    PinnedArray<unsigned char> memory;
    Event copied;
  };

  /// Waits until the buffer's last copy is through.
  [[nodiscard]] Buffer& next_buffer() {
    Buffer& buffer = buffers_[turn_ ^= 1U];
    if (buffer.memory.size() == 0) buffer.memory = PinnedArray<unsigned char>(bytes_);
    buffer.copied.wait();
    return buffer;
  }
  [[nodiscard]] Offset units(Offset unit, std::size_t size) const {
    return std::max<Offset>(1, bytes_ / (unit * static_cast<Offset>(size)));
  }

  Offset bytes_;
  std::array<Buffer, 2> buffers_;
  unsigned turn_ = 0;
};

}  // namespace likewise::cuda
