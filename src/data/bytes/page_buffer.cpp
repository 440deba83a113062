// SPDX-License-Identifier: Apache-2.0
#include "data/bytes/page_buffer.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace likewise::internal {

void* map_pages(std::size_t count, std::size_t size_of_one, bool touched) {
  if (count == 0) return nullptr;
  // Who knows the file makes a message of it.
  if (count > std::numeric_limits<std::size_t>::max() / 2 / size_of_one) throw std::bad_alloc();
  const std::size_t bytes = count * size_of_one;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (touched ? MAP_POPULATE : 0);
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  // Huge pages would bring in memory long before it is written, and hold it after it was released.
  if (!touched) madvise(pages, bytes, MADV_NOHUGEPAGE);
  return pages;
}

void unmap_pages(void* pages, std::size_t bytes) noexcept {
  if (pages != nullptr) munmap(pages, bytes);
}

void release_pages(void* begin, void* end) noexcept {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::size_t to_page = (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
  std::byte* first = static_cast<std::byte*>(begin) + to_page;
  std::byte* last = static_cast<std::byte*>(end) - reinterpret_cast<std::uintptr_t>(end) % page;
  if (first < last) madvise(first, static_cast<std::size_t>(last - first), MADV_DONTNEED);
}

}  // namespace likewise::internal
