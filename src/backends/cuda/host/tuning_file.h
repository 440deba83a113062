// SPDX-License-Identifier: Apache-2.0
/// The file that keeps what `likewise autotune` found on a GPU, in the user's cache folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/host/plugin.h"
#include "likewise/model.h"

namespace likewise {

/// The tuning that won for some work.
struct Winner {
  AlsWork work;
  AlsTuning tuning;
  double seconds = 0.0;  ///< of an iteration of what was measured
};

/// Winners hold for this GPU with this driver and this build only.
struct TuningOwner {
  std::string gpu;
  int major = 0;  ///< of the compute capability
  int minor = 0;
  int driver = 0;  ///< as FoundGpus::driver
};

struct Tunings {
  std::vector<Winner> winners;
  std::string measured;  ///< when the last of them was: UTC, ISO 8601
};

/// Where the GPU's file is: in $XDG_CACHE_HOME/likewise where that is an absolute path, else in
/// ~/.cache/likewise; empty where HOME is not set either.
[[nodiscard]] std::string tuning_path(const TuningOwner& owner);

/// The content of a file. Throws Error(kBadData) when it is broken, or belongs to another GPU,
/// driver or build.
[[nodiscard]] Tunings parse_tunings(std::string_view content, const TuningOwner& owner);

/// What the file holds; nothing where there is no file. Throws Error, naming the file, when it
/// cannot be read, and as parse_tunings().
[[nodiscard]] Tunings read_tunings(const std::string& path, const TuningOwner& owner);

/// To read the file and write it again with more: waits for others who do. Makes the folder. Throws
/// Error(kIo).
[[nodiscard]] HeldFile hold_tunings(const std::string& path);

/// Whole or not there. Throws Error(kIo).
void write_tunings(HeldFile& file, const TuningOwner& owner, const Tunings& tunings);

/// Whether two pieces of work have the same tuning: kernels come in steps of 16 columns.
[[nodiscard]] bool same_work(const AlsWork& a, const AlsWork& b);

}  // namespace likewise
