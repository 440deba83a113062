// SPDX-License-Identifier: Apache-2.0
#include "likewise/csr.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/linalg/scatter_columns.h"
#include "core/system/parallel.h"
#include "likewise/error.h"

namespace likewise {
namespace {

/// What is wrong with a row, or nothing.
std::string row_fault(const CsrView& m, Index row) {
  const auto columns = m.row_columns(row);
  const auto values = m.row_values(row);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] < 0 || columns[i] >= m.cols) {
      return fmt::format("column {} is outside [0, {})", columns[i], m.cols);
    }
    if (i > 0 && columns[i] <= columns[i - 1]) {
      return fmt::format("column {} follows column {}", columns[i], columns[i - 1]);
    }
    if (!std::isfinite(values[i]))
      return fmt::format("the value of column {} is not finite", columns[i]);
  }
  return {};
}

}  // namespace

void validate(const CsrView& m, const char* what) {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::kBadData, fmt::format("{}: {}", what, why));
  };
  if (m.rows < 0 || m.cols < 0) fail(fmt::format("impossible shape {} x {}", m.rows, m.cols));
  if (m.rows == 0) return;
  if (m.offsets[0] != 0) fail("the first offset is not 0");
  for (Index row = 0; row < m.rows; ++row) {
    if (m.offsets[row + 1] < m.offsets[row])
      fail(fmt::format("the offset after row {} falls", row));
  }
  std::atomic<Index> first_bad{m.rows};
  parallel_for(m.rows, 4096, [&](Offset row) {
    if (row_fault(m, static_cast<Index>(row)).empty()) return;
    Index seen = first_bad.load();
    while (row < seen && !first_bad.compare_exchange_weak(seen, static_cast<Index>(row))) {
    }
  });
  const Index bad = first_bad.load();
  if (bad < m.rows) fail(fmt::format("row {}: {}", bad, row_fault(m, bad)));
}

CsrMatrix transpose(const CsrView& m) {
  const auto row_at = [](Index place) { return place; };
  const ColumnScatter scatter(m, row_at);
  CsrMatrix t{m.cols, m.rows, scatter.begins().clone(), Array<Index>::uninitialized(m.nnz()),
              Array<float>::uninitialized(m.nnz())};
  scatter.write_all([&](Offset to, Index row, Offset entry) {
    t.columns[to] = row;
    t.values[to] = m.values[entry];
  });
  return t;
}

}  // namespace likewise
