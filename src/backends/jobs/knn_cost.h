// SPDX-License-Identifier: Apache-2.0
/// Two strategies to find neighbours: the common entries of rows one by one, or a GEMM over dense
/// rows. Both give the same lists; the shorter expected time chooses.
#pragma once

#include <string>

namespace likewise {

/// Expected seconds.
struct KnnCost {
  double common = 0.0;  ///< pairs of entries that share a column
  double sparse = 0.0;  ///< one by one
  double dense = 0.0;   ///< by GEMM; infinite where it cannot be

  [[nodiscard]] bool takes_dense() const { return dense < sparse; }
};

/// The choice in a line for people.
[[nodiscard]] std::string describe(const KnnCost& cost);

}  // namespace likewise
