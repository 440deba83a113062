// SPDX-License-Identifier: Apache-2.0
/// Finds the Arrow plug-in and checks that it belongs to this program.
#pragma once

#include <string>

#include "data/columnar/columnar.h"

namespace likewise {

/// Looks where all plug-ins lie (core/system/plugin_file.h). It stays loaded until the process
/// ends. Throws Error(kBadData) saying why `file`, which is `what` ("a Parquet file"), cannot be
/// read without it, and what to do.
[[nodiscard]] const ArrowPlugin& load_arrow_plugin(const std::string& file, const char* what);

}  // namespace likewise
