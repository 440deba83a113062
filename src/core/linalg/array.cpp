// SPDX-License-Identifier: Apache-2.0
#include "likewise/array.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <sys/mman.h>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise::internal {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

[[noreturn]] void throw_too_large(std::size_t count, std::size_t size_of_one) {
  throw Error(
      ErrorKind::kOutOfMemory,
      fmt::format("cannot allocate {} elements of {} bytes ({:.2f} GiB)", count, size_of_one,
                  static_cast<double>(count) * static_cast<double>(size_of_one) / (1 << 30)));
}

}  // namespace

std::shared_ptr<void> allocate_bytes(std::size_t count, std::size_t size_of_one, bool zeroed) {
  if (count == 0) return nullptr;
  if (count > std::numeric_limits<std::size_t>::max() / 2 / size_of_one) {
    throw_too_large(count, size_of_one);
  }
  const std::size_t bytes = count * size_of_one;

  // Large blocks come from mmap: already zero, and huge pages spare the gathers TLB misses.
  if (bytes >= 2 * kHugePage) {
    const std::size_t mapped = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    // Map one huge page more, so that the block itself can start at a huge page's boundary.
    void* raw = mmap(nullptr, mapped + kHugePage, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) throw_too_large(count, size_of_one);
    void* start = raw;
    std::size_t space = mapped + kHugePage;
    std::align(kHugePage, mapped, start, space);
    madvise(start, mapped, MADV_HUGEPAGE);
    return {start, [raw, mapped](void*) { munmap(raw, mapped + kHugePage); }};
  }

  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* block = std::aligned_alloc(kAlignment, rounded);
  if (block == nullptr) throw_too_large(count, size_of_one);
  if (zeroed) std::memset(block, 0, rounded);
  return {block, [](void* gone) { std::free(gone); }};
}

}  // namespace likewise::internal
