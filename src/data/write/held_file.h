// SPDX-License-Identifier: Apache-2.0
/// How a file takes the place of another one (likewise/model.h has what is held).
#pragma once

#include <filesystem>
#include <string>
#include <sys/stat.h>

#include "likewise/model.h"

namespace likewise {

struct HeldFile::State {
  explicit State(const std::string& path);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// False where another program has it.
  [[nodiscard]] bool try_to_hold();
  /// The file of this descriptor takes the place of what is held, and is held from now on; errno
  /// says why not where false.
  [[nodiscard]] bool replace_by(const std::filesystem::path& partial, int partial_descriptor);
  void require_unchanged() const;
  [[noreturn]] void refuse() const;

  std::string path;              ///< as the caller wrote it, for messages
  std::filesystem::path target;  ///< absolute, links followed; empty: nothing to hold
  int descriptor = -1;           ///< of what is there; -1: nothing
  struct stat facts {};          ///< when it was held
};

/// Renames `partial` to `target`; no other OutputFile does so at the same time. False, and errno,
/// where that cannot be.
[[nodiscard]] bool take_place(const std::filesystem::path& partial,
                              const std::filesystem::path& target);

}  // namespace likewise
