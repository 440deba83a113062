// SPDX-License-Identifier: Apache-2.0
/// From the ids that people type or keep in files to the indices of a model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "likewise/id_map.h"

namespace likewise::cli {

/// The index of an id; Error(kNotFound) names the id and shows what ids look like here. `kind` is
/// "user" or "item", `where` a place such as "ids.txt:3: " or "".
[[nodiscard]] Index index_of(const IdMap& ids, std::string_view id, const char* kind,
                             const std::string& where = "");

/// The indices of several ids, in their order.
[[nodiscard]] std::vector<Index> indices_of(const IdMap& ids, const std::vector<std::string>& names,
                                            const char* kind);

/// One id per line ("-" reads standard input, .gz and .zst are opened); empty lines do not count.
/// An unknown id is an error that names file and line.
[[nodiscard]] std::vector<Index> read_ids(const IdMap& ids, const std::string& path,
                                          const char* kind);

struct KnownIds {
  std::vector<Index> known;  ///< sorted, each once
  Offset unknown = 0;        ///< ids that the model does not have
};
/// The same for lists that may name more than a model has, such as allow and deny lists.
[[nodiscard]] KnownIds read_known_ids(const IdMap& ids, const std::string& path);

/// Where each id of a file is in a model, -1 where it is not.
[[nodiscard]] std::vector<Index> translate(const IdMap& from, const IdMap& to);

/// 0, 1, ..., size - 1.
[[nodiscard]] std::vector<Index> all_indices(Index size);

}  // namespace likewise::cli
