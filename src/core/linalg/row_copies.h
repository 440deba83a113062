// SPDX-License-Identifier: Apache-2.0
/// Rows of matrices in another order, or some of them.
#pragma once

#include <algorithm>
#include <span>

#include "core/system/parallel.h"
#include "likewise/matrix.h"

namespace likewise {

inline constexpr Offset kRowsPerCopy = 1024;  ///< that a thread copies in one go

/// Row r of the result is row rows[r] of `from`.
[[nodiscard]] inline Matrix gather_rows(const Matrix& from, std::span<const Index> rows) {
  Matrix to(static_cast<Index>(rows.size()), from.cols());
  parallel_for(std::ssize(rows), kRowsPerCopy, [&](Offset at) {
    std::copy_n(from.row(rows[static_cast<std::size_t>(at)]), from.stride(),
                to.row(static_cast<Index>(at)));
  });
  return to;
}

/// Row rows[r] of `to` becomes row r of `from`. No row twice.
inline void scatter_rows(const Matrix& from, std::span<const Index> rows, Matrix& to) {
  parallel_for(std::ssize(rows), kRowsPerCopy, [&](Offset at) {
    std::copy_n(from.row(static_cast<Index>(at)), from.stride(),
                to.row(rows[static_cast<std::size_t>(at)]));
  });
}

}  // namespace likewise
