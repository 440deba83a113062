// SPDX-License-Identifier: Apache-2.0
/// The process's list of partial files, so that a signal handler can delete them.
#pragma once

#include <cstddef>
#include <string>

namespace likewise {

/// Holds one name on the list while it lives. With more files open than the list has places, the
/// name is not listed: only a signal that kills without unwinding then leaves that file behind.
class PartialFileEntry {
 public:
  explicit PartialFileEntry(const std::string& absolute_path);
  ~PartialFileEntry();
  PartialFileEntry(const PartialFileEntry&) = delete;
  PartialFileEntry& operator=(const PartialFileEntry&) = delete;

 private:
  std::size_t slot_;
};

}  // namespace likewise
