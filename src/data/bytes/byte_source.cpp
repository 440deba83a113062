// SPDX-License-Identifier: Apache-2.0
#include "data/bytes/byte_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise {
namespace {

[[noreturn]] void throw_system(const std::string& path, const char* doing, int code) {
  const ErrorKind kind = code == ENOENT || code == ENOTDIR ? ErrorKind::kNotFound : ErrorKind::kIo;
  throw Error(kind, fmt::format("{}: cannot {}: {}", path, doing, std::strerror(code)));
}

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) throw_system(path, "open", errno);
    struct stat facts {};
    if (fstat(file_, &facts) != 0) fail("read");
    if (S_ISDIR(facts.st_mode)) {
      close(file_);
      throw Error(ErrorKind::kIo, fmt::format("{}: is a folder; name a file in it", path));
    }
    if (S_ISREG(facts.st_mode)) total_ = facts.st_size;
    posix_fadvise(file_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  ~FileSource() override { close(file_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::size_t read(char* to, std::size_t size) override {
    while (true) {
      const ssize_t got = ::read(file_, to, size);
      if (got >= 0) {
        consumed_ += got;
        return static_cast<std::size_t>(got);
      }
      if (errno != EINTR) throw_system(path_, "read", errno);
    }
  }
  [[nodiscard]] Offset consumed() const override { return consumed_; }
  [[nodiscard]] Offset total() const override { return total_; }

 private:
  [[noreturn]] void fail(const char* doing) {
    const int code = errno;
    close(file_);
    throw_system(path_, doing, code);
  }

  std::string path_;
  int file_;
  Offset consumed_ = 0;
  Offset total_ = 0;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}

  std::size_t read(char* to, std::size_t size) override {
    const std::size_t count = std::min(size, bytes_.size() - at_);
    if (count > 0) std::memcpy(to, bytes_.data() + at_, count);
    at_ += count;
    return count;
  }
  [[nodiscard]] Offset consumed() const override { return static_cast<Offset>(at_); }
  [[nodiscard]] Offset total() const override { return static_cast<Offset>(bytes_.size()); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

class PutBackSource final : public ByteSource {
 public:
  PutBackSource(std::string head, ByteSourcePtr rest)
      : head_(std::move(head)), rest_(std::move(rest)) {}

  std::size_t read(char* to, std::size_t size) override {
    if (at_ == head_.size()) return rest_->read(to, size);
    const std::size_t count = std::min(size, head_.size() - at_);
    std::memcpy(to, head_.data() + at_, count);
    at_ += count;
    return count;
  }
  [[nodiscard]] Offset consumed() const override { return rest_->consumed(); }
  [[nodiscard]] Offset total() const override { return rest_->total(); }

 private:
  std::string head_;
  ByteSourcePtr rest_;
  std::size_t at_ = 0;
};

}  // namespace

ByteSourcePtr open_file(const std::string& path) { return std::make_unique<FileSource>(path); }

ByteSourcePtr memory_source(std::string_view bytes) {
  return std::make_unique<MemorySource>(bytes);
}

std::string read_up_to(ByteSource& source, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const std::size_t got = source.read(bytes.data() + have, size - have);
    if (got == 0) break;
    have += got;
  }
  bytes.resize(have);
  return bytes;
}

ByteSourcePtr put_back(std::string head, ByteSourcePtr rest) {
  return std::make_unique<PutBackSource>(std::move(head), std::move(rest));
}

}  // namespace likewise
