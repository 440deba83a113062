// SPDX-License-Identifier: Apache-2.0
#include "options/ids.h"

#include <algorithm>

#include <fmt/format.h>

#include "likewise/error.h"
#include "likewise/read.h"

namespace likewise::cli {

std::vector<Index> read_ids(const IdMap& ids, const std::string& path, const char* kind) {
  std::vector<Index> rows;
  for_each_line(path, [&](std::string_view id, Offset line) {
    if (!id.empty()) rows.push_back(row_of(ids, id, kind, fmt::format("{}:{}: ", path, line)));
  });
  if (rows.empty()) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: no {} ids in it; write one per line", path, kind));
  }
  return rows;
}

FoundRows read_known_ids(const IdMap& ids, const std::string& path) {
  FoundRows found;
  for_each_line(path, [&](std::string_view id, Offset) {
    if (id.empty()) return;
    if (const auto row = ids.find(id)) {
      found.rows.push_back(*row);
    } else {
      ++found.unknown;
    }
  });
  std::sort(found.rows.begin(), found.rows.end());
  found.rows.erase(std::unique(found.rows.begin(), found.rows.end()), found.rows.end());
  return found;
}

}  // namespace likewise::cli
