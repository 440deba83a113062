// SPDX-License-Identifier: Apache-2.0
/// Users who were not trained, from a file of interactions.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

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

/// What `work` returns; an error about a new row says which by name_of(number).
template <class NameOf, class Work>
[[nodiscard]] auto naming_rows(const NameOf& name_of, const Work& work) {
  try {
    return work();
  } catch (const RowError& error) {
    throw Error(error.kind(),
                fmt::format("{}: {}", printable(name_of(error.row())), error.reason()));
  }
}

}  // namespace likewise::cli
