// SPDX-License-Identifier: Apache-2.0
/// Files and folders that are not complete yet: their hidden names, how other processes see that
/// somebody still works on them, and this process's list of them for a signal handler.
#pragma once

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <string>

namespace likewise {

enum class PartialKind { kFile, kFolder };

/// What was made under a hidden name. The descriptor (of a file: to write it) has a lock that ends
/// with the process, however that ends.
struct Partial {
  std::filesystem::path path;
  int descriptor = -1;  ///< -1: nothing was made, and errno says why
};

/// Makes an empty file or folder next to `target`, which is absolute, in the folder `target` is in.
[[nodiscard]] Partial make_partial(const std::filesystem::path& target, PartialKind kind);

/// Deletes the partial files and folders in `folder` that this user's processes left when they were
/// killed: those without a lock. What cannot be looked at stays.
void remove_abandoned_partials(const std::filesystem::path& folder) noexcept;

/// Holds one name, of a file or a folder, on the list while it lives. With more files open than the
/// list has places, the name is not listed: only a signal that kills without unwinding then leaves
/// that file behind.
class PartialFileEntry {
 public:
  explicit PartialFileEntry(const std::string& absolute_path);
  ~PartialFileEntry();
  PartialFileEntry(const PartialFileEntry&) = delete;
  PartialFileEntry& operator=(const PartialFileEntry&) = delete;

 private:
  std::size_t slot_;
};

/// While it lives, a signal does not end the process by way of remove_partial_files(): for the
/// moment in which several files take their places. Its thread takes no signals, and a handler on
/// another one waits.
class TakingPlaces {
 public:
  TakingPlaces();
  ~TakingPlaces();
  TakingPlaces(const TakingPlaces&) = delete;
  TakingPlaces& operator=(const TakingPlaces&) = delete;

 private:
  sigset_t before_;
};

}  // namespace likewise
