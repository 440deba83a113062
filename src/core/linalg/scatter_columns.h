// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "core/system/parallel.h"
#include "likewise/array.h"
#include "likewise/control.h"
#include "likewise/csr.h"

namespace likewise {

/// Where the entries of a matrix stand when they are sorted by column, and the rows of a column in
/// the order row_at(0), row_at(1), ...: the same for any number of threads. The matrix and row_at
/// must outlive it.
template <class RowAt>
class ColumnScatter {
 public:
  ColumnScatter(const CsrView& m, const RowAt& row_at)
      : m_(m), row_at_(row_at), begins_(Offset{m.cols} + 1) {
    divide_rows();
    count_entries();
  }

  /// Where each column begins: cols + 1 positions.
  [[nodiscard]] const Array<Offset>& begins() const { return begins_; }

  /// Calls write(to, place, entry) for every entry, in parallel: `to` is its position by column,
  /// `place` that of its row in the order and `entry` its position in the matrix.
  template <class Write>
  void write_all(const Write& write) const {
    parallel_for(parts(), 1, [&](Offset part) {
      Array<Offset> to = next_[static_cast<std::size_t>(part)].clone();
      for_entries(part, [&](Index place, Offset e) { write(to[m_.columns[e]]++, place, e); });
    });
  }

 private:
  /// Parts with about the same number of entries each. A part counts its entries per column, the
  /// counts become its write positions, so every entry's place is fixed by the matrix alone.
  void divide_rows() {
    const Offset nnz = m_.nnz();
    const Offset parts = std::clamp<Offset>(
        std::min<Offset>(thread_count(), nnz / std::max<Offset>(1, Offset{m_.cols} / 2)), 1, 64);
    first_.assign(static_cast<std::size_t>(parts) + 1, m_.rows);
    Offset before = 0;
    Offset part = 0;
    for (Index place = 0; place < m_.rows && part < parts; ++place) {
      while (part < parts && before >= nnz / parts * part) {
        first_[static_cast<std::size_t>(part++)] = place;
      }
      before += m_.row_size(row_at_(place));
    }
    next_.resize(static_cast<std::size_t>(parts));
  }

  void count_entries() {
    parallel_for(parts(), 1, [&](Offset part) {
      auto& counts = next_[static_cast<std::size_t>(part)] = Array<Offset>(m_.cols);
      for_entries(part, [&](Index, Offset e) { ++counts[m_.columns[e]]; });
    });
    Offset position = 0;
    for (Index column = 0; column < m_.cols; ++column) {
      begins_[column] = position;
      for (auto& counts : next_) {
        const Offset count = counts[column];
        counts[column] = position;
        position += count;
      }
    }
    begins_[m_.cols] = position;
  }

  [[nodiscard]] Offset parts() const { return static_cast<Offset>(next_.size()); }

  template <class Body>
  void for_entries(Offset part, const Body& body) const {
    const auto p = static_cast<std::size_t>(part);
    for (Index place = first_[p]; place < first_[p + 1]; ++place) {
      const Index row = row_at_(place);
      for (Offset e = m_.offsets[row]; e < m_.offsets[row + 1]; ++e) body(place, e);
    }
  }

  CsrView m_;
  const RowAt& row_at_;
  Array<Offset> begins_;
  std::vector<Index> first_;         ///< part -> its first place
  std::vector<Array<Offset>> next_;  ///< part, column -> where its entries go
};

}  // namespace likewise
