// SPDX-License-Identifier: Apache-2.0
/// Text of features. The first byte chooses columns, header and side; the rest is the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "likewise/error.h"
#include "likewise/features.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned choice = data[0];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  likewise::FeatureOptions options;
  if ((choice & 1U) != 0) options.columns = {"2", "1"};
  if ((choice & 2U) != 0) options.columns = {"id", "tag"};
  if ((choice & 4U) != 0) options.header = (choice & 8U) != 0;
  const auto side = (choice & 16U) != 0 ? likewise::Side::kUsers : likewise::Side::kItems;
  try {
    const likewise::FeatureTable table = likewise::features_from_text(text, "input", side, options);
    likewise::validate(table.weights.view(), "features");
    if (table.weights.rows != table.ids.size() || table.weights.cols != table.tags.size()) {
      std::abort();
    }
  } catch (const likewise::Error& error) {
    // What was read is a matrix.
    if (std::string_view(error.what()).starts_with("features:")) std::abort();
  }
  return 0;
}
