// SPDX-License-Identifier: Apache-2.0
#include "algorithms/als/gram.h"

#include <algorithm>

#include "core/system/parallel.h"

namespace likewise {
namespace {

/// Row j of the upper triangle of Y^T Y; every row is summed by one thread in the order of Y's
/// rows.
void gram_rows(const MatrixView& y, Offset begin, Offset end, std::vector<double>& gram) {
  const auto cols = static_cast<std::size_t>(y.cols);
  for (Index r = 0; r < y.rows; ++r) {
    const float* row = y.row(r);
    for (auto j = static_cast<std::size_t>(begin); j < static_cast<std::size_t>(end); ++j) {
      const double factor = row[j];
      for (std::size_t i = j; i < cols; ++i) gram[j * cols + i] += factor * double{row[i]};
    }
  }
}

}  // namespace

std::vector<double> scaled_gram(const MatrixView& y, double scale) {
  const auto cols = static_cast<std::size_t>(y.cols);
  std::vector<double> gram(cols * cols, 0.0);
  parallel_blocks(y.cols, 16,
                  [&](Offset begin, Offset end, Offset) { gram_rows(y, begin, end, gram); });
  for (std::size_t j = 0; j < cols; ++j) {
    for (std::size_t i = j; i < cols; ++i) {
      gram[j * cols + i] *= scale;
      gram[i * cols + j] = gram[j * cols + i];
    }
  }
  return gram;
}

void add_outer_product(std::vector<double>& upper, const std::vector<double>& v, double scale) {
  const std::size_t width = v.size();
  for (std::size_t j = 0; j < width; ++j) {
    const double factor = scale * v[j];
    for (std::size_t i = j; i < width; ++i) upper[j * width + i] += factor * v[i];
  }
}

}  // namespace likewise
