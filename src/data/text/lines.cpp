// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "data/bytes/block_stream.h"
#include "data/bytes/byte_source.h"
#include "data/bytes/decompress.h"
#include "data/write/naming.h"
#include "likewise/error.h"
#include "likewise/read.h"

namespace likewise {
namespace {

std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

std::string_view without_carriage_return(std::string_view line) {
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

void visit_lines(const std::string& path,
                 const std::function<void(std::string_view line, Offset number)>& visit) {
  const Decompressed file = decompress(open_file(path == "-" ? "/dev/stdin" : path), path);
  const ReadTuning tuning;
  BlockStream blocks(*file.source, tuning);
  Offset number = 0;
  for (TextBlock block; blocks.next(block);) {
    std::string_view text = block.text();
    if (number == 0) text = without_byte_order_mark(text);
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      visit(without_carriage_return(text.substr(0, end)), ++number);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
  }
  if (blocks.too_long()) {
    throw Error(ErrorKind::kBadData, fmt::format("{}:{}: a line longer than {} bytes", path,
                                                 number + 1, tuning.max_line_bytes));
  }
}

}  // namespace

void for_each_line(const std::string& path,
                   const std::function<void(std::string_view line, Offset number)>& visit) {
  naming_the_file(path, [&] { visit_lines(path, visit); });
}

}  // namespace likewise
