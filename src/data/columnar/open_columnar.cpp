// SPDX-License-Identifier: Apache-2.0
#include "data/columnar/open_columnar.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "data/columnar/load_arrow.h"
#include "likewise/error.h"
#include "likewise/write.h"

namespace likewise {
namespace {

struct KnownKind {
  ColumnarKind kind;
  std::string_view magic;
  const char* name;
  const char* what;
};
constexpr KnownKind kKinds[] = {
    {ColumnarKind::kParquet, "PAR1", "Parquet", "a Parquet file"},
    {ColumnarKind::kArrowFile, "ARROW1", "Arrow", "an Arrow file"},
    {ColumnarKind::kArrowStream, "\xff\xff\xff\xff", "Arrow stream", "a stream of Arrow"}};

const KnownKind& known(ColumnarKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: {}", file, why));
}

/// The rows as text. Holds the table.
class RowsSource final : public ByteSource {
 public:
  RowsSource(std::shared_ptr<const ColumnarTable> table, const ColumnarChoice& choice,
             std::string name, Offset file_bytes)
      : table_(std::move(table)),
        rows_(table_->read(choice)),
        name_(std::move(name)),
        file_bytes_(file_bytes) {}

  std::size_t read(char* to, std::size_t size) override {
    if (at_ == text_.size()) refill();
    const std::size_t count = std::min(size, text_.size() - at_);
    std::memcpy(to, text_.data() + at_, count);
    at_ += count;
    return count;
  }
  /// By how many of the rows were read.
  [[nodiscard]] Offset consumed() const override {
    const Offset rows = table_->rows().value_or(0);
    if (rows <= 0) return 0;
    const double part = static_cast<double>(done_) / static_cast<double>(rows);
    return static_cast<Offset>(static_cast<double>(file_bytes_) * std::min(part, 1.0));
  }
  [[nodiscard]] Offset total() const override {
    return table_->rows().value_or(0) > 0 ? file_bytes_ : 0;
  }

 private:
  void refill() {
    constexpr Offset kRowsAtOnce = 8192;
    text_.clear();
    at_ = 0;
    const Offset rows = rows_->next(text_, kRowsAtOnce);
    done_ += rows;
    const Offset stated = table_->rows().value_or(done_);
    if (rows > 0 || done_ == stated) return;
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: declares {} rows but holds {}: the file is damaged", name_, stated,
                            done_));
  }

  std::shared_ptr<const ColumnarTable> table_;
  std::unique_ptr<ColumnarRows> rows_;
  std::string name_;
  Offset file_bytes_;
  std::string text_;
  std::size_t at_ = 0;
  Offset done_ = 0;
};

/// pandas keeps the index of a frame in such a column.
bool is_index_of_pandas(std::string_view name) {
  return name.starts_with("__index_level_") && name.ends_with("__");
}

/// The names as a header, each in quotes: nothing in it is a comment.
std::string header_of(const std::vector<ColumnarColumn>& columns) {
  std::string header;
  for (const ColumnarColumn& column : columns) {
    header += header.empty() ? "\"" : ",\"";
    for (const char letter : column.name) {
      if (letter == '"') header += '"';
      if (letter != '\0') header += letter;
    }
    header += '"';
  }
  return header + "\n";
}

/// All columns that may be looked at.
ColumnarChoice all_columns(const ColumnarTable& table, const ReadOptions& options) {
  constexpr std::size_t kMostText = 4096;  // longer ones are no ids
  ColumnarChoice choice{{}, false, kMostText};
  for (const ColumnarColumn& column : table.columns()) {
    const bool asked = std::ranges::find(options.columns, column.name) != options.columns.end();
    choice.columns.push_back(column.is_text_or_number &&
                             (asked || !is_index_of_pandas(column.name)));
  }
  return choice;
}

/// Columns that are read must hold what can be.
void check_types(const FileFormat& format, const std::vector<ColumnarColumn>& columns) {
  for (const Role role : {kUser, kItem, kValue, kTime}) {
    if (!format.has(role)) continue;
    const ColumnarColumn& column = columns[static_cast<std::size_t>(format.columns[role])];
    if ((role == kUser || role == kItem) && !column.holds_ids) {
      refuse(format.file, fmt::format("{}: ids are whole numbers or text, not {}: cast the column",
                                      format.column_name(role), printable(column.type)));
    }
    if (!column.is_text_or_number) {
      refuse(format.file, fmt::format("{} holds neither numbers nor text but {}: cast the column",
                                      format.column_name(role), printable(column.type)));
    }
  }
}

FileFormat format_of(const ColumnarTable& table, ColumnarKind kind, const std::string& file,
                     const ReadOptions& options, const std::string& first_rows) {
  ReadOptions of_text = options;
  of_text.delimiter.assign(1, ',');
  of_text.header = Header::kYes;
  const std::string head = header_of(table.columns()) + first_rows;
  FileFormat format = detect_format({head, false}, file, of_text);
  check_types(format, table.columns());
  format.counts_rows = true;
  format.data_begin = 0;
  format.lines_before = 0;
  format.description = known(kind).name + format.description.substr(format.description.find(','));
  return format;
}

/// The first bytes of a file.
std::string magic_of(const std::string& path) {
  ByteSourcePtr source = open_file(path);
  return read_up_to(*source, 8);
}

}  // namespace

std::optional<ColumnarKind> columnar_kind(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return std::nullopt;
  const std::string magic = magic_of(path);
  for (const KnownKind& kind : kKinds) {
    if (magic.starts_with(kind.magic)) return kind.kind;
  }
  return std::nullopt;
}

ColumnarText open_columnar(const std::string& path, ColumnarKind kind, const std::string& file,
                           const ReadOptions& options) {
  refuse_given(file, options, {"format", "delimiter", "header", "decimal"}, known(kind).what);
  const ArrowPlugin& plugin = load_arrow_plugin(file, known(kind).what);
  const std::shared_ptr<const ColumnarTable> table = plugin.open(path, kind, file);
  const ColumnarChoice all = all_columns(*table, options);
  if (std::ranges::count(all.columns, true) == 0) {
    refuse(file, "has no column of numbers or text");
  }
  std::string first_rows;
  if (table->read(all)->next(first_rows, kSampleLines) == 0) {
    throw Error(ErrorKind::kBadData, fmt::format("{}: holds no rows", file));
  }
  FileFormat format = format_of(*table, kind, file, options, first_rows);
  ColumnarChoice chosen{std::vector<bool>(all.columns.size(), false),
                        options.on_bad_row == BadRows::kFail};
  for (const int column : format.columns) {
    if (column >= 0) chosen.columns[static_cast<std::size_t>(column)] = true;
  }
  const auto bytes = static_cast<Offset>(std::filesystem::file_size(path));
  auto source = std::make_unique<RowsSource>(table, chosen, file, bytes);
  return {std::move(source), std::move(format), std::move(first_rows)};
}

}  // namespace likewise
