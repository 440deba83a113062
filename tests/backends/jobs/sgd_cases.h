// SPDX-License-Identifier: Apache-2.0
/// What tests of SGD over ranks run over: parameters, and matrices that are hard to share out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "likewise/csr.h"
#include "likewise/factors.h"
#include "likewise/sgd.h"

namespace likewise::test {

struct SgdCase {
  std::string name;
  SgdParams params;
};
/// Every option that changes the mathematics.
[[nodiscard]] std::vector<SgdCase> sgd_cases(SgdOrder order);

struct SgdMatrix {
  std::string name;
  CsrMatrix matrix;

  /// With dislikes for the logistic loss, which needs both.
  [[nodiscard]] CsrMatrix for_loss(SgdLoss loss) const;
};
/// No rating, no row, one cell, fewer users than ranks, and a row of each side with about half of
/// all ratings, one of them in pieces, beside rows without any.
[[nodiscard]] std::vector<SgdMatrix> sgd_matrices();

void expect_same_bits(const Factors& a, const Factors& b);

}  // namespace likewise::test
