// SPDX-License-Identifier: Apache-2.0
/// How much of the machine's memory the control groups of Linux allow a process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace likewise {

/// Bytes until the first limit, over all groups that the process is in, one inside the other. Files
/// that were read and may be forgotten again do not count as used. `groups` is what
/// /proc/self/cgroup holds, `mounts` what /proc/self/mountinfo does; versions 1 and 2. Nothing
/// where no group has a limit.
[[nodiscard]] std::optional<std::uint64_t> available_in_control_groups(const std::string& groups,
                                                                       const std::string& mounts);

}  // namespace likewise
