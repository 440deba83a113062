// SPDX-License-Identifier: Apache-2.0
#include "data/write/file_lock.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

#include "data/write/output_target.h"

namespace likewise {
namespace {

[[nodiscard]] struct flock byte_of(LockUse use) {
  struct flock byte {};  // its process stays 0, as these locks want it
  byte.l_type = F_WRLCK;
  byte.l_whence = SEEK_SET;
  byte.l_start = static_cast<off_t>(use);
  byte.l_len = 1;
  return byte;
}

}  // namespace

bool try_lock(int descriptor, LockUse use) {
  struct flock byte = byte_of(use);
  const int done = uninterrupted([&] { return fcntl(descriptor, F_OFD_SETLK, &byte); });
  return done == 0 || (errno != EAGAIN && errno != EACCES);
}

void lock(int descriptor, LockUse use) {
  struct flock byte = byte_of(use);
  (void)uninterrupted([&] { return fcntl(descriptor, F_OFD_SETLKW, &byte); });
}

bool is_at(const std::filesystem::path& path, int descriptor) {
  struct stat named {};
  struct stat opened {};
  return lstat(path.c_str(), &named) == 0 && fstat(descriptor, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

int open_to_lock(const std::filesystem::path& path) {
  constexpr int kFlags = O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
  const int descriptor = open(path.c_str(), O_WRONLY | kFlags);
  return descriptor >= 0 || errno == ENOENT ? descriptor : open(path.c_str(), O_RDONLY | kFlags);
}

}  // namespace likewise
