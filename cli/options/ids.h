// SPDX-License-Identifier: Apache-2.0
/// Files of ids, as rows of a model.
#pragma once

#include <string>
#include <vector>

#include "likewise/query.h"

namespace likewise::cli {

/// One id per line ("-" reads standard input, .gz and .zst are opened); empty lines do not count.
/// An unknown id is an error that names file and line.
[[nodiscard]] std::vector<Index> read_ids(const IdMap& ids, const std::string& path,
                                          const char* kind);

/// The same for lists that may name more than a model has, such as allow and deny lists: rows
/// rising, each once.
[[nodiscard]] FoundRows read_known_ids(const IdMap& ids, const std::string& path);

}  // namespace likewise::cli
