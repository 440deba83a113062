// SPDX-License-Identifier: Apache-2.0
/// Batches of a Parquet or Arrow file, as Arrow reads them: few rows of few columns at a time.
#pragma once

#include <arrow/type_fwd.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/columnar/columnar.h"

namespace likewise {

/// What can be read of a file.
struct Batches {
  std::shared_ptr<arrow::RecordBatchReader> reader;
  std::shared_ptr<arrow::Schema> schema;  ///< of the file: all columns
  std::optional<Offset> rows;
};

/// Opens a file to read the columns with these numbers, in their order; none: it is not read.
/// Arrow's exceptions and errors come as Error(kBadData), kOutOfMemory where memory was missing.
[[nodiscard]] Batches open_batches(const std::string& path, ColumnarKind kind,
                                   const std::string& name, const std::vector<int>& columns);

/// The next batch, checked by Arrow to the last offset; null at the end. Errors as above.
[[nodiscard]] std::shared_ptr<arrow::RecordBatch> next_batch(arrow::RecordBatchReader& reader,
                                                             const std::string& name);

}  // namespace likewise
