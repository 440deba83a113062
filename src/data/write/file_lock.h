// SPDX-License-Identifier: Apache-2.0
/// Locks of a file that end with the process. They belong to the open file (Linux's "open file
/// description locks"), so that two of one process exclude each other, too; flock(1) around a
/// command does not meet them. NFS passes them on to the server.
#pragma once

#include <filesystem>

namespace likewise {

/// What a lock is for: each has a byte of its own, which need not be there.
enum class LockUse {
  kHolding = 0,    ///< from reading to writing again: minutes or hours
  kReplacing = 1,  ///< while a file takes its place: moments
};

/// False where another one has the lock. True, too, where there are no locks: on such file systems,
/// and for files that are not open for writing.
[[nodiscard]] bool try_lock(int descriptor, LockUse use);
/// Waits for it.
void lock(int descriptor, LockUse use);

/// Whether the name still is that of the open file.
[[nodiscard]] bool is_at(const std::filesystem::path& path, int descriptor);

/// Opens a file to lock it, for writing where that is allowed; -1 and errno where it cannot be.
[[nodiscard]] int open_to_lock(const std::filesystem::path& path);

}  // namespace likewise
