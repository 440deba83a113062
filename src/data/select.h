// SPDX-License-Identifier: Apache-2.0
/// A part of the interactions, chosen one by one.
#pragma once

#include "core/system/parallel.h"
#include "likewise/interactions.h"

namespace likewise {

/// The interactions for which `keep(user, position)` holds (called twice for each, from any
/// thread), in the same shape. The id maps are left empty: the caller copies or moves them in.
template <class Keep>
[[nodiscard]] Interactions select(const Interactions& all, const Keep& keep) {
  constexpr Offset kGrain = 1024;
  const CsrMatrix& from = all.by_user;
  Array<Offset> offsets(Offset{from.rows} + 1);
  parallel_for(from.rows, kGrain, [&](Offset row) {
    const auto user = static_cast<Index>(row);
    for (Offset at = from.offsets[row]; at < from.offsets[row + 1]; ++at) {
      offsets[row + 1] += static_cast<Offset>(keep(user, at));
    }
  });
  for (Index user = 0; user < from.rows; ++user) offsets[user + 1] += offsets[user];

  const Offset nnz = offsets[from.rows];
  Interactions part;
  part.by_user = {from.rows, from.cols, std::move(offsets), Array<Index>::uninitialized(nnz),
                  Array<float>::uninitialized(nnz)};
  if (all.has_times()) part.times = Array<Time>::uninitialized(nnz);
  part.time_form = all.time_form;
  part.faded = all.faded;
  parallel_for(from.rows, kGrain, [&](Offset row) {
    Offset to = part.by_user.offsets[row];
    for (Offset at = from.offsets[row]; at < from.offsets[row + 1]; ++at) {
      if (!keep(static_cast<Index>(row), at)) continue;
      part.by_user.columns[to] = from.columns[at];
      part.by_user.values[to] = from.values[at];
      if (all.has_times()) part.times[to] = all.times[at];
      ++to;
    }
  });
  return part;
}

}  // namespace likewise
