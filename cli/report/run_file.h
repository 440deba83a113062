// SPDX-License-Identifier: Apache-2.0
/// Trainings that are over, read again to be compared.
#pragma once

#include <string>
#include <vector>

#include "likewise/iteration.h"
#include "likewise/types.h"

namespace likewise::cli {

struct TrainedRun {
  std::string name;
  std::string file;
  std::string algorithm;
  std::string feedback;
  std::string device;
  std::string metric;  ///< of the iterations' `validation`: a key of parse_metric()
  std::string among;   ///< what validation ranked, where not all items
  Offset users = 0;
  Offset items = 0;
  Offset interactions = 0;
  std::vector<Iteration> iterations;  ///< from the first on, all of them validated
};

/// Reads what `likewise train --json` printed (plain or compressed, "-" is standard input), or a
/// model file. Throws Error(kBadData) naming file and field for anything else, and for a run whose
/// iterations are not all there, measured and finite.
[[nodiscard]] TrainedRun read_run(const std::string& path);

}  // namespace likewise::cli
