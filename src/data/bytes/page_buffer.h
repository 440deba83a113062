// SPDX-License-Identifier: Apache-2.0
/// Memory in pages straight from the system, which can be given back piece by piece: rows on their
/// way into the matrix are freed as they are moved on, so that two stages never both hold all rows.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "likewise/types.h"

namespace likewise {

namespace internal {
/// `touched`: the caller will write all of it at once, so map it in one go.
void* map_pages(std::size_t count, std::size_t size_of_one, bool touched);
void unmap_pages(void* pages, std::size_t bytes) noexcept;
/// Gives back the pages that lie wholly inside [begin, end); their content is lost.
void release_pages(void* begin, void* end) noexcept;
}  // namespace internal

template <class T>
class PageBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PageBuffer() = default;
  PageBuffer(Offset size, bool touched)
      : data_(static_cast<T*>(
            internal::map_pages(static_cast<std::size_t>(size), sizeof(T), touched))),
        size_(size) {}
  PageBuffer(PageBuffer&& from) noexcept
      : data_(std::exchange(from.data_, nullptr)), size_(std::exchange(from.size_, 0)) {}
  PageBuffer& operator=(PageBuffer&& from) noexcept {
    std::swap(data_, from.data_);
    std::swap(size_, from.size_);
    return *this;
  }
  PageBuffer(const PageBuffer&) = delete;
  PageBuffer& operator=(const PageBuffer&) = delete;
  ~PageBuffer() { internal::unmap_pages(data_, static_cast<std::size_t>(size_) * sizeof(T)); }

  [[nodiscard]] Offset size() const { return size_; }
  [[nodiscard]] T* begin() { return data_; }
  [[nodiscard]] T* end() { return data_ + size_; }
  [[nodiscard]] const T* begin() const { return data_; }
  [[nodiscard]] const T* end() const { return data_ + size_; }
  [[nodiscard]] T& operator[](Offset i) { return data_[i]; }

  /// The elements [from, to) will not be read again.
  void release(Offset from, Offset to) noexcept {
    internal::release_pages(data_ + from, data_ + to);
  }

 private:
  T* data_ = nullptr;
  Offset size_ = 0;
};

}  // namespace likewise
