// SPDX-License-Identifier: Apache-2.0
/// Result rows, written as CSV, tab-separated text or JSON lines by the file's extension
/// (table_format); "-" is CSV on standard output.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "likewise/write.h"

namespace likewise::cli {

using Cell = std::variant<std::string_view, std::int64_t, float, double>;

class RowWriter {
 public:
  RowWriter(const std::string& path, std::vector<std::string> columns);
  /// In JSON lines where `as_json`, whatever the path is called.
  RowWriter(const std::string& path, std::vector<std::string> columns, bool as_json);

  /// One cell per column. Text and numbers are written so that they read back the same
  /// (append_field); a NaN is an empty cell (null in JSON). Throws Error(kBadData) for text in JSON
  /// that is not UTF-8.
  void row(const std::vector<Cell>& cells);
  /// Without it nothing appears under the final name.
  void finish();

  [[nodiscard]] Offset rows() const { return rows_; }

 private:
  void flush_if_large();

  TableFormat format_;
  OutputFile file_;
  std::vector<std::string> columns_;
  std::string buffer_;
  Offset rows_ = 0;
};

/// Writes a whole result text to standard output and reports what the system says.
void print_result(std::string_view text);

}  // namespace likewise::cli
