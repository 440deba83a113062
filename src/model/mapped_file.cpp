// SPDX-License-Identifier: Apache-2.0
#include "model/mapped_file.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "likewise/error.h"

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

}  // namespace

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
  return {std::shared_ptr<void>(start, [size](void* gone) { ::munmap(gone, size); }),
          {static_cast<std::byte*>(start), size}};
}

}  // namespace likewise
