// SPDX-License-Identifier: Apache-2.0
/// What the path of an output means, before anything is written.
#pragma once

#include <cerrno>
#include <filesystem>
#include <string>
#include <sys/types.h>

namespace likewise {

struct OutputTarget {
  enum class Kind {
    kFile,        ///< made next to its name and renamed
    kDevice,      ///< also a pipe: opened and written directly
    kDescriptor,  ///< standard output, or a /dev/fd/N of this process: written directly
  };
  Kind kind = Kind::kFile;
  std::filesystem::path path;  ///< absolute, links followed: also one to a file not there yet
  bool exists = false;
  mode_t mode = 0;  ///< of the file that exists
  int descriptor = -1;
};

/// Throws Error naming the path and why nothing can be written there.
[[nodiscard]] OutputTarget find_output(const std::string& path);

/// Throws Error(kIo): "PATH: ACTION: the system's reason", and what to do where that is known.
[[noreturn]] void throw_output_error(const std::string& path, const char* action, int code);

/// The names in a folder are on disk when this returns, where the file system offers that.
void sync_folder(const std::filesystem::path& folder);

/// Repeats a system call that a signal interrupted.
template <class Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace likewise
