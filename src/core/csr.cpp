// SPDX-License-Identifier: Apache-2.0
#include "likewise/csr.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/parallel.h"
#include "likewise/control.h"
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
  const Offset nnz = m.nnz();
  CsrMatrix t{m.cols, m.rows, Array<Offset>(Offset{m.cols} + 1), Array<Index>::uninitialized(nnz),
              Array<float>::uninitialized(nnz)};

  // Parts of rows, each with about the same number of entries; part p counts its entries per
  // column, the counts become its write positions, so every entry's place is fixed by the matrix
  // alone.
  const int parts = static_cast<int>(std::clamp<Offset>(
      std::min<Offset>(thread_count(), nnz / std::max<Offset>(1, Offset{m.cols} / 2)), 1, 64));
  std::vector<Index> part_begin(static_cast<std::size_t>(parts) + 1, m.rows);
  for (int p = 0; p < parts; ++p) {
    const Offset target = nnz / parts * p;
    part_begin[static_cast<std::size_t>(p)] = static_cast<Index>(
        p == 0 ? 0 : std::lower_bound(m.offsets, m.offsets + m.rows, target) - m.offsets);
  }
  std::vector<Array<Offset>> next(static_cast<std::size_t>(parts));
  parallel_for(parts, 1, [&](Offset p) {
    auto& counts = next[static_cast<std::size_t>(p)] = Array<Offset>(m.cols);
    const Offset end = m.rows == 0 ? 0 : m.offsets[part_begin[static_cast<std::size_t>(p) + 1]];
    for (Offset i = m.rows == 0 ? 0 : m.offsets[part_begin[static_cast<std::size_t>(p)]]; i < end;
         ++i) {
      ++counts[m.columns[i]];
    }
  });
  Offset position = 0;
  for (Index col = 0; col < m.cols; ++col) {
    t.offsets[col] = position;
    for (auto& counts : next) {
      const Offset count = counts[col];
      counts[col] = position;
      position += count;
    }
  }
  t.offsets[m.cols] = position;
  parallel_for(parts, 1, [&](Offset p) {
    auto& write = next[static_cast<std::size_t>(p)];
    for (Index row = part_begin[static_cast<std::size_t>(p)];
         row < part_begin[static_cast<std::size_t>(p) + 1]; ++row) {
      for (Offset i = m.offsets[row]; i < m.offsets[row + 1]; ++i) {
        const Offset to = write[m.columns[i]]++;
        t.columns[to] = row;
        t.values[to] = m.values[i];
      }
    }
  });
  return t;
}

CsrMatrix make_csr(Index rows, Index cols, std::span<const Entry> entries) {
  std::vector<Entry> sorted(entries.begin(), entries.end());
  std::sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) {
    return a.row != b.row ? a.row < b.row : a.col < b.col;
  });
  const auto nnz = static_cast<Offset>(sorted.size());
  CsrMatrix m{rows, cols, Array<Offset>(Offset{rows} + 1), Array<Index>::uninitialized(nnz),
              Array<float>::uninitialized(nnz)};
  for (Offset i = 0; i < nnz; ++i) {
    const Entry& e = sorted[static_cast<std::size_t>(i)];
    if (e.row < 0 || e.row >= rows) {
      throw Error(ErrorKind::kBadData, fmt::format("entry in row {} of {}", e.row, rows));
    }
    ++m.offsets[e.row + 1];
    m.columns[i] = e.col;
    m.values[i] = e.value;
  }
  for (Index row = 0; row < rows; ++row) m.offsets[row + 1] += m.offsets[row];
  validate(m.view(), "make_csr");
  return m;
}

}  // namespace likewise
