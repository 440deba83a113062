// SPDX-License-Identifier: Apache-2.0
#include "server/file_stamp.h"

#include <sys/stat.h>

namespace likewise::server {

bool is_same_file(const FileStamp& a, const FileStamp& b) {
  return a.device == b.device && a.inode == b.inode;
}

std::optional<FileStamp> stamp_of(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return {};
  constexpr std::int64_t kSecond = 1'000'000'000;
  return FileStamp{found.st_dev, found.st_ino, found.st_size,
                   found.st_mtim.tv_sec * kSecond + found.st_mtim.tv_nsec};
}

}  // namespace likewise::server
