// SPDX-License-Identifier: Apache-2.0
/// The Arrow plug-in: tables of Parquet and Arrow files as rows of CSV.
#include <algorithm>
#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/system/plugin_file.h"
#include "data/columnar/arrow/batches.h"
#include "data/columnar/arrow/cells.h"
#include "data/columnar/columnar.h"
#include "likewise/error.h"
#include "likewise/version.h"

namespace likewise {
namespace {

/// The numbers of the columns that are wanted.
std::vector<int> chosen(const ColumnarChoice& choice) {
  std::vector<int> columns;
  for (std::size_t c = 0; c < choice.columns.size(); ++c) {
    if (choice.columns[c]) columns.push_back(static_cast<int>(c));
  }
  return columns;
}

class ArrowRows final : public ColumnarRows {
 public:
  ArrowRows(Batches batches, std::vector<int> columns, const TextRule& rule, std::string name)
      : batches_(std::move(batches)),
        columns_(std::move(columns)),
        rule_(rule),
        name_(std::move(name)) {}

  Offset next(std::string& out, Offset most) override {
    if (at_ == size_ && !take_batch()) return 0;
    const std::int64_t end = std::min(size_, at_ + most);
    const std::int64_t rows = end - at_;
    for (; at_ < end; ++at_) write_row(out);
    return rows;
  }

 private:
  /// The next batch with rows.
  bool take_batch() {
    std::shared_ptr<arrow::RecordBatch> batch;
    do {
      batch = next_batch(*batches_.reader, name_);
      if (batch == nullptr) return false;
    } while (batch->num_rows() == 0);
    if (batch->num_columns() != static_cast<int>(columns_.size())) {
      throw Error(ErrorKind::kBadData, fmt::format("{}: a part of it has other columns", name_));
    }
    cells_.clear();
    for (int c = 0; c < batch->num_columns(); ++c) {
      cells_.push_back(cell_writer(batch->column(c), rule_));
    }
    at_ = 0;
    size_ = batch->num_rows();
    return true;
  }

  void write_row(std::string& out) try {
    int written = 0;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      out.append(static_cast<std::size_t>(columns_[c] - written), ',');
      written = columns_[c];
      cells_[c](at_, out);
    }
    out += '\n';
    ++rows_;
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: row {}: {}", name_, rows_ + 1, error.message()));
  }

  Batches batches_;
  std::vector<int> columns_;
  TextRule rule_;
  std::string name_;
  std::vector<WriteCell> cells_;
  std::int64_t at_ = 0;
  std::int64_t size_ = 0;
  Offset rows_ = 0;
};

class ArrowTable final : public ColumnarTable {
 public:
  ArrowTable(std::string path, ColumnarKind kind, std::string name)
      : path_(std::move(path)), kind_(kind), name_(std::move(name)) {
    const Batches known = open_batches(path_, kind_, name_, {});
    rows_ = known.rows;
    for (const auto& field : known.schema->fields()) {
      const arrow::DataType& type = *field->type();
      columns_.push_back({field->name(), type.ToString(), can_be_written(type), can_be_ids(type)});
    }
  }

  [[nodiscard]] const std::vector<ColumnarColumn>& columns() const override { return columns_; }
  [[nodiscard]] std::optional<Offset> rows() const override { return rows_; }
  [[nodiscard]] std::unique_ptr<ColumnarRows> read(const ColumnarChoice& choice) const override {
    std::vector<int> columns = chosen(choice);
    Batches batches = open_batches(path_, kind_, name_, columns);
    return std::make_unique<ArrowRows>(std::move(batches), std::move(columns),
                                       TextRule{choice.refuse_zero_bytes, choice.most_text}, name_);
  }

 private:
  std::string path_;
  ColumnarKind kind_;
  std::string name_;
  std::vector<ColumnarColumn> columns_;
  std::optional<Offset> rows_;
};

std::unique_ptr<ColumnarTable> open_table(const std::string& path, ColumnarKind kind,
                                          const std::string& name) {
  return std::make_unique<ArrowTable>(path, kind, name);
}

}  // namespace
}  // namespace likewise

const likewise::ArrowPlugin* likewise_arrow_plugin() {
  static constexpr likewise::ArrowPlugin kPlugin{likewise::kArrowInterface, likewise::kVersion,
                                                 likewise::kPluginCompiler, likewise::open_table};
  return &kPlugin;
}
