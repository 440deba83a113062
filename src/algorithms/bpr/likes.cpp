// SPDX-License-Identifier: Apache-2.0
#include "algorithms/bpr/likes.h"

#include <algorithm>

#include "core/parallel.h"

namespace likewise {

CsrMatrix likes_of(const CsrView& by_user) {
  CsrMatrix likes{by_user.rows, by_user.cols, Array<Offset>(Offset{by_user.rows} + 1), {}, {}};
  const auto is_like = [](float value) { return value > 0.0F; };
  for (Index row = 0; row < by_user.rows; ++row) {
    likes.offsets[row + 1] =
        likes.offsets[row] + std::ranges::count_if(by_user.row_values(row), is_like);
  }
  likes.columns = Array<Index>::uninitialized(likes.offsets[by_user.rows]);
  likes.values = Array<float>::uninitialized(likes.offsets[by_user.rows]);
  parallel_for(by_user.rows, 1024, [&](Offset row) {
    Offset to = likes.offsets[row];
    for (Offset at = by_user.offsets[row]; at < by_user.offsets[row + 1]; ++at) {
      if (!is_like(by_user.values[at])) continue;
      likes.columns[to] = by_user.columns[at];
      likes.values[to++] = by_user.values[at];
    }
  });
  return likes;
}

}  // namespace likewise
