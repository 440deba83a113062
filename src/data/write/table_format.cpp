// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "likewise/error.h"
#include "likewise/write.h"

namespace likewise {
namespace {

struct Known {
  TableFormat format;
  std::string_view extension;
};
constexpr Known kKnown[] = {{TableFormat::kCsv, ".csv"},
                            {TableFormat::kTsv, ".tsv"},
                            {TableFormat::kJsonLines, ".jsonl"},
                            {TableFormat::kJsonLines, ".ndjson"},
                            {TableFormat::kMatrixMarket, ".mtx"}};

}  // namespace

TableFormat table_format(const std::string& path, std::span<const TableFormat> possible) {
  const std::string extension =
      std::filesystem::path(without_compression(path)).extension().string();
  if (extension.empty()) return TableFormat::kCsv;
  std::vector<std::string_view> extensions;
  for (const Known& known : kKnown) {
    if (std::ranges::find(possible, known.format) == possible.end()) continue;
    if (known.extension == extension) return known.format;
    extensions.push_back(known.extension);
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{}: '{}' is no format that can be written here: end the name in {}, "
                          "with .gz or .zst after it to compress",
                          printable(path), printable(extension), fmt::join(extensions, ", ")));
}

}  // namespace likewise
