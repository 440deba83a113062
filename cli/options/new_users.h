// SPDX-License-Identifier: Apache-2.0
/// Users who were not trained, from a file of interactions.
#pragma once

#include <string>
#include <vector>

#include "likewise/recommender.h"
#include "output/progress.h"

namespace likewise::cli {

struct NewUsers {
  std::vector<std::string> names;
  std::vector<FoldInRow> rows;  ///< beside the names, in the model's items
};

/// Says how many of their interactions are with items that the model does not know; those are left
/// out.
[[nodiscard]] NewUsers read_new_users(const Model& model, const std::string& path,
                                      Progress& progress);

}  // namespace likewise::cli
