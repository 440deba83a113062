// SPDX-License-Identifier: Apache-2.0
#include "model/known_formats.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "likewise/error.h"
#include "model/bad_data.h"

namespace likewise {
namespace {

/// Control characters are in no text, 0xfe and 0xff in none of UTF-8. A model begins with some.
bool is_text(std::string_view start) {
  return start.size() > 8 && std::ranges::all_of(start, [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte < ' ' ? c == '\t' || c == '\n' || c == '\r' : byte < 0xfe;
         });
}

}  // namespace

void refuse_known_formats(std::span<const std::byte> file) {
  const std::string_view start(reinterpret_cast<const char*>(file.data()),
                               std::min<std::size_t>(file.size(), 64));
  constexpr std::pair<std::string_view, const char*> kKnown[] = {
      {"\x1f\x8b", "is compressed (gzip), and a model has to be decompressed first"},
      {"\x28\xb5\x2f\xfd", "is compressed (zstd), and a model has to be decompressed first"},
      {"PAR1", "is a Parquet file, not a model"},
      {"ARROW1", "is an Arrow file, not a model"}};
  if (start.starts_with("PK\x03\x04")) {
    bad_data("it is a zip archive (PyTorch and NumPy write those), not a safetensors file");
  }
  const auto* known =
      std::ranges::find_if(kKnown, [&](const auto& one) { return start.starts_with(one.first); });
  if (known == std::end(kKnown) && !is_text(start)) return;
  bad_data(fmt::format("it {}; a file of interactions is read by {}",
                       known == std::end(kKnown) ? "is text, not a model" : known->second,
                       mention("read_interactions")));
}

}  // namespace likewise
