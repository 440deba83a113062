// SPDX-License-Identifier: Apache-2.0
#include "model/mapped_file.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "likewise/error.h"
#include "likewise/model.h"

namespace likewise {
namespace {

[[noreturn]] void throw_system(const std::string& path, const char* verb, int code) {
  const auto kind = code == ENOENT || code == ENOTDIR ? ErrorKind::kNotFound : ErrorKind::kIo;
  throw Error(
      kind, fmt::format("{}: cannot {} it: {}", path, verb, std::generic_category().message(code)));
}

class Descriptor {
 public:
  // O_NONBLOCK: opening a pipe by mistake must fail below, not wait for a writer.
  explicit Descriptor(const std::string& path)
      : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (number_ < 0) throw_system(path, "open", errno);
  }
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

/// Which file is mapped where, for a signal handler. Whoever touches a missing page uses the
/// mapping, so its slot stays while the handler reads it.
struct Slot {
  std::atomic<std::uintptr_t> start{0};  ///< 0: free
  std::atomic<std::uintptr_t> size{0};
  std::atomic<const char*> path{nullptr};
};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free, "a signal handler reads it");
constinit std::array<Slot, 64> slots{};  // what finds no place goes without a name

class Mapping {
 public:
  Mapping(void* start, std::size_t size, std::string path)
      : start_(start), size_(size), path_(std::move(path)) {
    for (Slot& slot : slots) {
      const char* none = nullptr;
      if (!slot.path.compare_exchange_strong(none, path_.c_str())) continue;
      slot.size = size;
      slot.start = reinterpret_cast<std::uintptr_t>(start);
      slot_ = &slot;
      return;
    }
  }
  ~Mapping() {
    if (slot_ != nullptr) {
      slot_->start = 0;
      slot_->path = nullptr;
    }
    ::munmap(start_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

 private:
  void* start_;
  std::size_t size_;
  std::string path_;
  Slot* slot_ = nullptr;
};

}  // namespace

const char* model_file_at(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const Slot& slot : slots) {
    const std::uintptr_t start = slot.start;
    if (start != 0 && at >= start && at - start < slot.size) return slot.path;
  }
  return nullptr;
}

MappedFile map_file(const std::string& path) {
  const Descriptor file(path);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) throw_system(path, "examine", errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::kIo, fmt::format("{}: cannot map it: not a regular file", path));
  }
  if (status.st_size == 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  // NORESERVE: a private writable mapping would otherwise count in full against memory limits.
  void* start =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.number(), 0);
  if (start == MAP_FAILED) throw_system(path, "map", errno);
  return {std::make_shared<Mapping>(start, size, path), {static_cast<std::byte*>(start), size}};
}

}  // namespace likewise
