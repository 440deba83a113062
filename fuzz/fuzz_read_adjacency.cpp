// SPDX-License-Identifier: Apache-2.0
/// Lists of items. The first byte chooses options and the block size; the rest is the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "data/bytes/read_source.h"
#include "likewise/csr.h"
#include "likewise/error.h"

namespace {

likewise::Pairs read(std::string_view text, const likewise::ReadOptions& options,
                     const likewise::ReadTuning& tuning) {
  return likewise::read_pairs_of(likewise::memory_source(text), "input", options, nullptr, {},
                                 tuning);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned choice = data[0];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  likewise::ReadOptions options;
  options.format = likewise::Format::kAdjacency;
  options.on_bad_row = (choice & 1U) != 0 ? likewise::BadRows::kSkip : likewise::BadRows::kFail;
  if ((choice & 2U) != 0) options.delimiter = ",";
  const likewise::ReadTuning tiny{
      .block_bytes = 1 + choice % 7, .max_line_bytes = 4096, .head_bytes = 64};
  try {
    const auto pairs = read(text, options, tiny);
    const auto whole =
        likewise::read_source(likewise::memory_source(text), "input", options, nullptr, {}, tiny);
    likewise::validate(whole.by_user.view(), "result");
    // The same users and items, and as many pairs as there are values.
    double values = 0.0;
    for (const float value : whole.by_user.values) values += double{value};
    if (values != static_cast<double>(pairs.user_of.size())) std::abort();
    if (whole.users.size() != pairs.users.size()) std::abort();
    if (whole.items.size() != pairs.items.size()) std::abort();
    // The same head, another block size: the same pairs.
    const auto again = read(text, options, {.max_line_bytes = 4096, .head_bytes = 64});
    if (again.user_of.size() != pairs.user_of.size()) std::abort();
  } catch (const likewise::Error&) {
  }
  return 0;
}
