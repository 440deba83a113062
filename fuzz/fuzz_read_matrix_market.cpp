// SPDX-License-Identifier: Apache-2.0
/// Matrix Market files; the banner's first word is given, so that the fuzzer need not find it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "data/bytes/read_source.h"
#include "likewise/csr.h"
#include "likewise/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text =
      "%%MatrixMarket matrix " + std::string(reinterpret_cast<const char*>(data), size);
  const likewise::ReadOptions options{.on_bad_row = size % 2 == 0 ? likewise::BadRows::kSkip
                                                                  : likewise::BadRows::kFail};
  try {
    const auto result = likewise::read_source(
        likewise::memory_source(text), "input", options, nullptr, {},
        {.block_bytes = 1 + size % 50, .max_line_bytes = 4096, .head_bytes = 64});
    likewise::validate(result.by_user.view(), "result");
    if (!result.users.is_integer() || !result.items.is_integer()) std::abort();
  } catch (const likewise::Error&) {
  }
  return 0;
}
