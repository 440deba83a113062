// SPDX-License-Identifier: Apache-2.0
/// Text of titles. The first byte chooses the columns and the kind of ids; the rest is the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "data/title_text.h"
#include "likewise/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned choice = data[0];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  likewise::TitleOptions options;
  if ((choice & 1U) != 0) options.columns = {"2", "1"};
  if ((choice & 2U) != 0) options.columns = {"id", "name"};
  const std::vector<std::string> names{"1", "2", "3", "a", "b"};
  const likewise::IdMap items =
      (choice & 4U) != 0 ? likewise::IdMap::from_text(names) : likewise::IdMap::range(9);
  try {
    likewise::TitleSummary summary;
    const likewise::Titles titles =
        likewise::titles_from_text(text, "input", items, options, summary);
    titles.validate(items.size());
    if (titles.count() > items.size() || summary.unknown < 0) std::abort();
  } catch (const likewise::Error& error) {
    // A title that was read is one that a model takes.
    if (std::string_view(error.what()).starts_with("item_titles")) std::abort();
    if (std::string_view(error.what()).starts_with("the title of item")) std::abort();
  }
  return 0;
}
