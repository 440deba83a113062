// SPDX-License-Identifier: Apache-2.0
#include "rows.h"

#include <cmath>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace likewise::cli {
namespace {

constexpr std::size_t kBufferBytes = 64U << 10U;

/// Quoted where the separator, a quote, an edge space or a line end would mislead a reader.
void append_quoted(std::string& out, std::string_view text, char separator) {
  const bool plain = text.find_first_of("\"\r\n") == std::string_view::npos &&
                     text.find(separator) == std::string_view::npos && !text.empty() &&
                     text.front() != ' ' && text.back() != ' ';
  if (plain) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

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
    append_quoted(out, *text, separator);
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
    : file_(path), format_(format_of(path)), columns_(std::move(columns)) {
  if (format_ == Format::kJsonLines) return;
  const char separator = format_ == Format::kTsv ? '\t' : ',';
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (c > 0) buffer_ += separator;
    buffer_ += columns_[c];
  }
  buffer_ += '\n';
}

RowWriter::Format RowWriter::format_of(std::string path) {
  for (const char* compressed : {".gz", ".zst"}) {
    if (path.ends_with(compressed)) path.resize(path.size() - std::string_view(compressed).size());
  }
  if (path.ends_with(".tsv")) return Format::kTsv;
  if (path.ends_with(".jsonl") || path.ends_with(".ndjson")) return Format::kJsonLines;
  return Format::kCsv;
}

void RowWriter::row(const std::vector<Cell>& cells) {
  if (format_ == Format::kJsonLines) {
    for (std::size_t c = 0; c < cells.size(); ++c) {
      buffer_ += c == 0 ? "{" : ",";
      buffer_ += json_string(columns_[c]) + ":";
      append_json(buffer_, cells[c]);
    }
    buffer_ += "}\n";
  } else {
    const char separator = format_ == Format::kTsv ? '\t' : ',';
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

std::string json_string(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace likewise::cli
