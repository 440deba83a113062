// SPDX-License-Identifier: Apache-2.0
/// JSON lines, blocks, comments, words and decimal commas. The first two bytes choose options and
/// the block size; the rest is the file.
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

likewise::ReadOptions options_of(unsigned choice, unsigned more) {
  constexpr likewise::Format kFormats[] = {likewise::Format::kAuto, likewise::Format::kNetflix,
                                           likewise::Format::kKddCup};
  likewise::ReadOptions options;
  options.keep_times = (choice & 1U) != 0;
  options.on_bad_row = (choice & 2U) != 0 ? likewise::BadRows::kSkip : likewise::BadRows::kFail;
  options.format = kFormats[(choice >> 2) % 3];
  options.duplicates = static_cast<likewise::Duplicates>(more % 9);
  if ((choice & 0x10U) != 0) options.decimal = ",";
  if ((choice & 0x20U) != 0) options.word_values = {{"view", 1.0}, {"buy", 5.0}};
  if ((choice & 0x40U) != 0) options.time_format = "%m/%d/%Y";
  if ((choice & 0x80U) != 0) options.half_life = 86400.0;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const likewise::ReadOptions options = options_of(data[0], data[1]);
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const likewise::ReadTuning tiny{
      .block_bytes = 1 + std::size_t{data[1]} % 7, .max_line_bytes = 4096, .head_bytes = 64};
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
