// SPDX-License-Identifier: Apache-2.0
/// Rows of S = D^(-1/2) X' D_U^(-b) X D^(-1/2), one at a time, from the entries of an item's users.
#pragma once

#include "algorithms/ease/ease_scales.h"
#include "core/linalg/scatter_columns.h"
#include "likewise/array.h"
#include "likewise/csr.h"
#include "retrieval/nearest_rows.h"

namespace likewise {

class EaseGram {
 public:
  /// Both must outlive it.
  EaseGram(const CsrView& by_user, const EaseScales& scales)
      : by_user_(by_user),
        scales_(scales),
        all_ones_(are_ones(by_user)),
        entries_(Array<Entry>::uninitialized(by_user.nnz())) {
    const auto row_at = [](Index place) { return place; };
    const ColumnScatter scatter(by_user, row_at);
    begins_ = scatter.begins().clone();
    scatter.write_all([&](Offset to, Index user, Offset entry) {
      entries_[to] = {user, static_cast<Index>(entry - by_user.offsets[user])};
    });
  }

  /// S_ij of all j >= i as take(j, S_ij), in double precision, where the two have a user in common.
  /// `sums` has a number for each item; they are 0 before and after.
  template <class Take>
  void row(Index i, Array<double>& sums, const Take& take) const {
    for (Offset e = begins_[i]; e < begins_[i + 1]; ++e) add_from(entries_[e], sums.data());
    const double scale = scales_.item[static_cast<std::size_t>(i)];
    for (Index j = i; j < by_user_.cols; ++j) {
      if (sums[j] != 0.0) take(j, sums[j] * (scale * scales_.item[static_cast<std::size_t>(j)]));
      sums[j] = 0.0;
    }
  }

 private:
  /// Of an item.
  struct Entry {
    Index user = 0;
    Index place = 0;  ///< in the user's row
  };

  /// X_ui X_uj d_u^(-b) of the entry's user and all j from the entry's item on.
  void add_from(const Entry& entry, double* sums) const {
    const Offset first = by_user_.offsets[entry.user] + entry.place;
    const Offset count = by_user_.offsets[Offset{entry.user} + 1] - first;
    const float* const values = by_user_.values + first;
    const double weight = scales_.user[static_cast<std::size_t>(entry.user)] * double{values[0]};
    const Index* const items = by_user_.columns + first;
    if (all_ones_) {
      add(
          items, count, [&](Offset) { return weight; }, sums);
    } else {
      add(
          items, count, [&](Offset e) { return weight * double{values[e]}; }, sums);
    }
  }

  /// No item is there twice, so that four sums are read before they are written.
  template <class ValueOf>
  static void add(const Index* items, Offset count, const ValueOf& value_of, double* sums) {
    Offset e = 0;
    for (; e + 4 <= count; e += 4) {
      double* const a = sums + items[e];
      double* const b = sums + items[e + 1];
      double* const c = sums + items[e + 2];
      double* const d = sums + items[e + 3];
      const double of_a = *a + value_of(e);
      const double of_b = *b + value_of(e + 1);
      const double of_c = *c + value_of(e + 2);
      const double of_d = *d + value_of(e + 3);
      *a = of_a;
      *b = of_b;
      *c = of_c;
      *d = of_d;
    }
    for (; e < count; ++e) sums[items[e]] += value_of(e);
  }

  const CsrView& by_user_;
  const EaseScales& scales_;
  bool all_ones_;
  Array<Offset> begins_;  ///< of each item in entries_
  Array<Entry> entries_;
};

}  // namespace likewise
