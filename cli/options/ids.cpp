// SPDX-License-Identifier: Apache-2.0
#include "options/ids.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "likewise/error.h"
#include "likewise/read.h"
#include "output/text.h"

namespace likewise::cli {

Index index_of(const IdMap& ids, std::string_view id, const char* kind, const std::string& where) {
  if (const auto index = ids.find(id)) return *index;
  const std::string example =
      ids.size() == 0 ? "" : fmt::format(", such as '{}'", printable(ids.name(0)));
  throw Error(ErrorKind::kNotFound,
              fmt::format("{}{} '{}' is not in the model (it knows {}{})", where, kind,
                          printable(id), counted(ids.size(), kind), example));
}

std::vector<Index> indices_of(const IdMap& ids, const std::vector<std::string>& names,
                              const char* kind) {
  std::vector<Index> indices;
  for (const std::string& name : names) indices.push_back(index_of(ids, name, kind));
  return indices;
}

std::vector<Index> read_ids(const IdMap& ids, const std::string& path, const char* kind) {
  std::vector<Index> indices;
  for_each_line(path, [&](std::string_view id, Offset line) {
    if (!id.empty()) indices.push_back(index_of(ids, id, kind, fmt::format("{}:{}: ", path, line)));
  });
  if (indices.empty()) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: no {} ids in it; write one per line", path, kind));
  }
  return indices;
}

KnownIds read_known_ids(const IdMap& ids, const std::string& path) {
  KnownIds result;
  for_each_line(path, [&](std::string_view id, Offset) {
    if (id.empty()) return;
    if (const auto index = ids.find(id)) {
      result.known.push_back(*index);
    } else {
      ++result.unknown;
    }
  });
  std::sort(result.known.begin(), result.known.end());
  result.known.erase(std::unique(result.known.begin(), result.known.end()), result.known.end());
  return result;
}

std::vector<Index> translate(const IdMap& from, const IdMap& to) {
  std::vector<Index> table(static_cast<std::size_t>(from.size()));
  for (Index i = 0; i < from.size(); ++i) {
    table[static_cast<std::size_t>(i)] = to.find(from.name(i)).value_or(-1);
  }
  return table;
}

std::vector<Index> all_indices(Index size) {
  std::vector<Index> indices(static_cast<std::size_t>(size));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

}  // namespace likewise::cli
