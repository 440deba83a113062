// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "data/text/format.h"
#include "data/text/words.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr std::string_view kBanner = "%%matrixmarket";
constexpr Delimiter kSpaces{Delimiter::kSpaces, ' '};

[[noreturn]] void fail(const std::string& file, Offset line, const std::string& why) {
  throw Error(ErrorKind::kBadData, fmt::format("{}:{}: {}", file, line, why));
}

/// "%%MatrixMarket matrix coordinate real general"
void read_banner(FileFormat& format, std::string_view line) {
  std::vector<std::string> words;
  (void)split_line(lower(line), kSpaces, words);
  const auto word = [&](std::size_t i) { return i < words.size() ? words[i] : std::string(); };
  const auto expect = [&](const char* what, std::size_t i,
                          std::initializer_list<std::string_view> known) {
    if (std::find(known.begin(), known.end(), word(i)) != known.end()) return;
    fail(format.file, 1,
         fmt::format("Matrix Market {} '{}' is not supported: use {}", what, printable(word(i)),
                     fmt::join(known, ", ")));
  };
  expect("object", 1, {"matrix"});
  expect("format", 2, {"coordinate"});
  expect("field", 3, {"real", "integer", "pattern"});
  expect("symmetry", 4, {"general", "symmetric"});
  format.matrix.present = true;
  format.matrix.symmetric = word(4) == "symmetric";
  format.columns = {0, 1, word(3) == "pattern" ? -1 : 2, -1};
  format.fields = format.has(kValue) ? 3 : 2;
  format.names = {"row", "column"};
  if (format.has(kValue)) format.names.emplace_back("value");
  format.description = fmt::format("matrix market, coordinate {} {}", word(3), word(4));
}

/// "rows columns entries"
void read_sizes(FileFormat& format, std::string_view line, Offset number) {
  std::vector<std::string> words;
  (void)split_line(line, kSpaces, words);
  Offset sizes[3] = {};
  bool good = words.size() == 3;
  for (std::size_t i = 0; good && i < 3; ++i) {
    const char* end = words[i].data() + words[i].size();
    const auto [rest, error] = std::from_chars(words[i].data(), end, sizes[i]);
    good = rest == end && error == std::errc{} && sizes[i] >= 0;
  }
  if (!good) {
    fail(format.file, number,
         fmt::format("expected the size line 'rows columns entries', not '{}'", printable(line)));
  }
  constexpr Offset kMost = std::numeric_limits<Index>::max();
  if (sizes[0] > kMost || sizes[1] > kMost) {
    fail(format.file, number,
         fmt::format("{} x {}: at most {} rows and columns are supported", sizes[0], sizes[1],
                     kMost));
  }
  if (format.matrix.symmetric && sizes[0] != sizes[1]) {
    fail(format.file, number,
         fmt::format("a symmetric matrix cannot be {} x {}", sizes[0], sizes[1]));
  }
  format.matrix.rows = sizes[0];
  format.matrix.cols = sizes[1];
  format.matrix.entries = sizes[2];
}

}  // namespace

bool is_matrix_market(std::string_view text) {
  return lower(text.substr(0, kBanner.size())) == kBanner;
}

FileFormat read_matrix_market_head(const FileHead& head, const std::string& file) {
  FileFormat format;
  format.file = file;
  format.delimiter = kSpaces;
  LineReader reader(head.text);
  std::string_view line;
  (void)reader.next(line);
  read_banner(format, line);
  while (reader.next(line)) {
    if (is_blank_line(line) || line.starts_with('%')) continue;
    if (!head.whole && reader.position(head.text) == head.text.size()) break;  // perhaps cut off
    read_sizes(format, line, reader.lines());
    format.data_begin = reader.position(head.text);
    format.lines_before = reader.lines();
    return format;
  }
  fail(file, reader.lines(),
       head.whole ? "the file ends before the size line 'rows columns entries'"
                  : fmt::format("no size line within the first {} bytes", head.text.size()));
}

}  // namespace likewise
