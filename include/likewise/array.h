// SPDX-License-Identifier: Apache-2.0
/// `Array<T>`: a fixed-length, move-only run of plain numbers, 64-byte aligned.
///
/// Unlike std::vector it can be left uninitialised (a 20-million-entry matrix is written once, not
/// twice), asks for huge pages when it is large, and can stand over memory that somebody else keeps
/// alive, such as a mapped model file. Throws Error(kOutOfMemory) with the size when it cannot
/// grow.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "likewise/types.h"

namespace likewise {

namespace internal {
/// 64-byte aligned memory, released by the returned pointer's deleter. `bytes` may be 0.
std::shared_ptr<void> allocate_bytes(std::size_t count, std::size_t size_of_one, bool zeroed);
}  // namespace internal

template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Array() = default;

  /// `count` elements set to zero.
  explicit Array(Offset count) : Array(count, true) {}

  /// `count` elements with unspecified content, to be written before they are read.
  [[nodiscard]] static Array uninitialized(Offset count) { return Array(count, false); }

  [[nodiscard]] static Array copy_of(std::span<const T> values) {
    Array result(static_cast<Offset>(values.size()), false);
    for (std::size_t i = 0; i < values.size(); ++i) result.data_[i] = values[i];
    return result;
  }

  /// Elements at `data`, kept alive by `owner`.
  [[nodiscard]] static Array over(std::shared_ptr<void> owner, T* data, Offset count) {
    Array result;
    result.owner_ = std::move(owner);
    result.data_ = data;
    result.size_ = count;
    return result;
  }

  Array(Array&& from) noexcept { swap(from); }
  Array& operator=(Array&& from) noexcept {
    Array gone(std::move(from));
    swap(gone);
    return *this;
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  [[nodiscard]] Array clone() const { return copy_of(span()); }
  /// The same elements, kept alive by both: neither may write to them from now on.
  [[nodiscard]] Array share() const { return over(owner_, const_cast<T*>(data_), size_); }

  [[nodiscard]] Offset size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] T& operator[](Offset i) { return data_[i]; }
  [[nodiscard]] const T& operator[](Offset i) const { return data_[i]; }
  [[nodiscard]] T* begin() { return data_; }
  [[nodiscard]] T* end() { return data_ + size_; }
  [[nodiscard]] const T* begin() const { return data_; }
  [[nodiscard]] const T* end() const { return data_ + size_; }
  [[nodiscard]] std::span<T> span() { return {data_, static_cast<std::size_t>(size_)}; }
  [[nodiscard]] std::span<const T> span() const { return {data_, static_cast<std::size_t>(size_)}; }

 private:
  Array(Offset count, bool zeroed)
      : owner_(internal::allocate_bytes(static_cast<std::size_t>(count), sizeof(T), zeroed)),
        data_(static_cast<T*>(owner_.get())),
        size_(count) {}

  void swap(Array& with) noexcept {
    std::swap(owner_, with.owner_);
    std::swap(data_, with.data_);
    std::swap(size_, with.size_);
  }

  std::shared_ptr<void> owner_;
  T* data_ = nullptr;
  Offset size_ = 0;
};

}  // namespace likewise
