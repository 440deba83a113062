// SPDX-License-Identifier: Apache-2.0
/// Cells of Arrow's arrays as fields of CSV.
#pragma once

#include <arrow/type_fwd.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace likewise {

/// What becomes of text, as ColumnarChoice says.
struct TextRule {
  bool refuse_zero_bytes = true;
  std::size_t most = SIZE_MAX;
};

/// Appends a cell of a row; nothing where it is missing. Throws Error(kBadData) for text that a
/// rule refuses.
using WriteCell = std::function<void(std::int64_t row, std::string& out)>;

/// Whether cells of a type can be written: whole and other numbers, text, truths, dates and times,
/// and dictionaries of them.
[[nodiscard]] bool can_be_written(const arrow::DataType& type);
/// Whether it is whole numbers or text, or a dictionary of them.
[[nodiscard]] bool can_be_ids(const arrow::DataType& type);

/// A writer of an array of a type that can be written. Shares the array.
[[nodiscard]] WriteCell cell_writer(const std::shared_ptr<arrow::Array>& array,
                                    const TextRule& rule);

}  // namespace likewise
