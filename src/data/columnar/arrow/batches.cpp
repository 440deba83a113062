// SPDX-License-Identifier: Apache-2.0
#include "data/columnar/arrow/batches.h"

#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <exception>
#include <new>
#include <numeric>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <utility>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise {
namespace {

constexpr std::int64_t kBatchRows = std::int64_t{1} << 16;

[[noreturn]] void refuse(const std::string& name, std::string why) {
  constexpr std::size_t kMost = 300;
  why.erase(why.find_last_not_of("\n ") + 1);
  throw Error(ErrorKind::kBadData,
              fmt::format("{}: Arrow cannot read it, it is damaged or of a new "
                          "kind: {}",
                          name, printable(why, kMost)));
}

void require(const arrow::Status& status, const std::string& name) {
  if (status.ok()) return;
  if (status.IsOutOfMemory()) throw std::bad_alloc();
  refuse(name, status.message());
}

template <class T>
T required(arrow::Result<T> result, const std::string& name) {
  require(result.status(), name);
  return std::move(result).ValueUnsafe();
}

/// read(), with what Arrow throws as an error of ours.
template <class Read>
auto without_foreign_exceptions(const std::string& name, const Read& read) {
  try {
    return read();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& exception) {
    refuse(name, exception.what());
  }
}

std::shared_ptr<arrow::io::ReadableFile> open_bytes(const std::string& path,
                                                    const std::string& name) {
  return required(arrow::io::ReadableFile::Open(path), name);
}

/// The batches of a Parquet file, which go with their file.
class ParquetBatches final : public arrow::RecordBatchReader {
 public:
  ParquetBatches(std::shared_ptr<parquet::arrow::FileReader> file,
                 std::unique_ptr<arrow::RecordBatchReader> batches)
      : file_(std::move(file)), batches_(std::move(batches)) {}
  [[nodiscard]] std::shared_ptr<arrow::Schema> schema() const override {
    return batches_->schema();
  }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    return batches_->ReadNext(batch);
  }

 private:
  std::shared_ptr<parquet::arrow::FileReader> file_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;
};

/// The batches of an Arrow file, one after the other.
class FileBatches final : public arrow::RecordBatchReader {
 public:
  explicit FileBatches(std::shared_ptr<arrow::ipc::RecordBatchFileReader> file)
      : file_(std::move(file)) {}
  [[nodiscard]] std::shared_ptr<arrow::Schema> schema() const override { return file_->schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    batch->reset();
    if (next_ == file_->num_record_batches()) return arrow::Status::OK();
    return file_->ReadRecordBatch(next_++).Value(batch);
  }

 private:
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> file_;
  int next_ = 0;
};

/// The columns of Parquet's schema that a column of the table consists of.
void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
  if (field.is_leaf()) leaves.push_back(field.column_index);
  for (const auto& child : field.children) add_leaves(child, leaves);
}

Batches open_parquet(const std::string& path, const std::string& name,
                     const std::vector<int>& columns) {
  parquet::ReaderProperties bytes;
  bytes.enable_buffered_stream();  // pages, not row groups, are in memory
  parquet::ArrowReaderProperties rows(false);
  rows.set_batch_size(kBatchRows);
  rows.set_pre_buffer(false);
  parquet::arrow::FileReaderBuilder builder;
  require(builder.Open(open_bytes(path, name), bytes), name);
  builder.properties(rows);
  std::unique_ptr<parquet::arrow::FileReader> file = required(builder.Build(), name);

  Batches batches;
  require(file->GetSchema(&batches.schema), name);
  batches.rows = file->parquet_reader()->metadata()->num_rows();
  std::vector<int> leaves;
  for (const int column : columns) {
    add_leaves(file->manifest().schema_fields.at(static_cast<std::size_t>(column)), leaves);
  }
  if (leaves.empty()) return batches;
  std::vector<int> groups(static_cast<std::size_t>(file->num_row_groups()));
  std::iota(groups.begin(), groups.end(), 0);
  auto reader = required(file->GetRecordBatchReader(groups, leaves), name);
  batches.reader = std::make_shared<ParquetBatches>(std::move(file), std::move(reader));
  return batches;
}

arrow::ipc::IpcReadOptions ipc_options(const std::vector<int>& columns) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.use_threads = false;
  options.included_fields = columns;
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  return options;
}

Batches open_arrow_file(const std::string& path, const std::string& name,
                        const std::vector<int>& columns) {
  using Reader = arrow::ipc::RecordBatchFileReader;
  const auto open = [&](const std::vector<int>& some) {
    return required(Reader::Open(open_bytes(path, name), ipc_options(some)), name);
  };
  const std::shared_ptr<Reader> whole = open({});
  Batches batches{nullptr, whole->schema(), required(whole->CountRows(), name)};
  if (!columns.empty()) batches.reader = std::make_shared<FileBatches>(open(columns));
  return batches;
}

Batches open_arrow_stream(const std::string& path, const std::string& name,
                          const std::vector<int>& columns) {
  const auto open = [&](const std::vector<int>& some) {
    return required(
        arrow::ipc::RecordBatchStreamReader::Open(open_bytes(path, name), ipc_options(some)), name);
  };
  Batches batches{nullptr, open({})->schema(), std::nullopt};
  if (!columns.empty()) batches.reader = open(columns);
  return batches;
}

}  // namespace

Batches open_batches(const std::string& path, ColumnarKind kind, const std::string& name,
                     const std::vector<int>& columns) {
  return without_foreign_exceptions(name, [&] {
    switch (kind) {
      case ColumnarKind::kParquet:
        return open_parquet(path, name, columns);
      case ColumnarKind::kArrowFile:
        return open_arrow_file(path, name, columns);
      case ColumnarKind::kArrowStream:
        break;
    }
    return open_arrow_stream(path, name, columns);
  });
}

std::shared_ptr<arrow::RecordBatch> next_batch(arrow::RecordBatchReader& reader,
                                               const std::string& name) {
  return without_foreign_exceptions(name, [&] {
    std::shared_ptr<arrow::RecordBatch> batch;
    require(reader.ReadNext(&batch), name);
    if (batch != nullptr) require(batch->ValidateFull(), name);
    return batch;
  });
}

}  // namespace likewise
