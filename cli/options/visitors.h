// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "likewise/query.h"
#include "likewise/read.h"
#include "output/progress.h"

namespace likewise::cli {

/// Users who were not trained, from a file of interactions that is read with these options. Says
/// how many of these are with items that the model does not know; they are left out.
[[nodiscard]] Visitors read_visitors(const Model& model, const std::string& path,
                                     const ReadOptions& options, Progress& progress);

}  // namespace likewise::cli
