// SPDX-License-Identifier: Apache-2.0
/// Text of interactions. The first byte chooses options and the block size; the rest is the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "data/bytes/read_source.h"
#include "likewise/csr.h"
#include "likewise/error.h"

namespace {

likewise::Interactions read(std::string_view text, const likewise::ReadOptions& options,
                            const likewise::ReadTuning& tuning) {
  return likewise::read_source(likewise::memory_source(text), "input", options, nullptr, {},
                               tuning);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned choice = data[0];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  likewise::ReadOptions options;
  options.keep_times = (choice & 1U) != 0;
  options.on_bad_row = (choice & 2U) != 0 ? likewise::BadRows::kSkip : likewise::BadRows::kFail;
  options.duplicates = static_cast<likewise::Duplicates>((choice >> 2) % 5);
  if ((choice & 0x20U) != 0) options.min_user_count = 2;
  if ((choice & 0x40U) != 0) options.min_value = 1.0;
  const likewise::ReadTuning tiny{
      .block_bytes = 1 + choice % 7, .max_line_bytes = 4096, .head_bytes = 64};
  try {
    const auto result = read(text, options, tiny);
    likewise::validate(result.by_user.view(), "result");
    if (result.by_user.rows != result.users.size()) std::abort();
    if (result.by_user.cols != result.items.size()) std::abort();
    // The same head, another block size: the same matrix.
    const auto again = read(text, options, {.max_line_bytes = 4096, .head_bytes = 64});
    if (again.by_user.nnz() != result.by_user.nnz()) std::abort();
  } catch (const likewise::Error&) {
  }
  return 0;
}
