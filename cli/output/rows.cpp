// SPDX-License-Identifier: Apache-2.0
#include "output/rows.h"

#include <cmath>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "likewise/error.h"

namespace likewise::cli {
namespace {

constexpr std::size_t kBufferBytes = 64U << 10U;

template <class T>
void append_number(std::string& out, T value, std::string_view if_not_finite) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) {
      out += if_not_finite;
      return;
    }
  }
  fmt::format_to(std::back_inserter(out), "{}", value);
}

/// JSON is UTF-8: an id in another encoding would come out as another id.
std::string json_string(std::string_view text) {
  try {
    return nlohmann::json(std::string(text)).dump();
  } catch (const nlohmann::json::type_error&) {
    throw Error(
        ErrorKind::kBadData,
        fmt::format("'{}' is not UTF-8 and cannot be written as JSON: write .csv or .tsv, or "
                    "convert the data to UTF-8 before training",
                    printable(text)));
  }
}

void append_json(std::string& out, const Cell& cell) {
  if (const auto* text = std::get_if<std::string_view>(&cell)) {
    out += json_string(*text);
    return;
  }
  std::visit(
      [&](auto value) {
        if constexpr (std::is_arithmetic_v<decltype(value)>) append_number(out, value, "null");
      },
      cell);
}

void append_text(std::string& out, const Cell& cell, char separator) {
  if (const auto* text = std::get_if<std::string_view>(&cell)) {
    append_field(out, *text, separator);
    return;
  }
  std::visit(
      [&](auto value) {
        if constexpr (std::is_arithmetic_v<decltype(value)>) append_number(out, value, "");
      },
      cell);
}

}  // namespace

RowWriter::RowWriter(const std::string& path, std::vector<std::string> columns)
    : RowWriter(path, std::move(columns), false) {}

RowWriter::RowWriter(const std::string& path, std::vector<std::string> columns, bool as_json)
    : format_(as_json ? TableFormat::kJsonLines : table_format(path, kRowFormats)),
      file_(path),
      columns_(std::move(columns)) {
  if (format_ == TableFormat::kJsonLines) return;
  const char separator = format_ == TableFormat::kTsv ? '\t' : ',';
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (c > 0) buffer_ += separator;
    buffer_ += columns_[c];
  }
  buffer_ += '\n';
}

void RowWriter::row(const std::vector<Cell>& cells) {
  if (format_ == TableFormat::kJsonLines) {
    for (std::size_t c = 0; c < cells.size(); ++c) {
      buffer_ += c == 0 ? "{" : ",";
      buffer_ += json_string(columns_[c]) + ":";
      append_json(buffer_, cells[c]);
    }
    buffer_ += "}\n";
  } else {
    const char separator = format_ == TableFormat::kTsv ? '\t' : ',';
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (c > 0) buffer_ += separator;
      append_text(buffer_, cells[c], separator);
    }
    buffer_ += '\n';
  }
  ++rows_;
  flush_if_large();
}

void RowWriter::flush_if_large() {
  if (buffer_.size() < kBufferBytes) return;
  file_.write(buffer_);
  buffer_.clear();
}

void RowWriter::finish() {
  file_.write(buffer_);
  buffer_.clear();
  file_.commit();
}

void print_result(std::string_view text) {
  OutputFile out("-");
  out.write(text);
  out.commit();
}

}  // namespace likewise::cli
