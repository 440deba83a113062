// SPDX-License-Identifier: Apache-2.0
#include "training/cost.h"

#include <gtest/gtest.h>

#include "likewise/als.h"
#include "tests/support.h"

namespace likewise {
namespace {

TEST(Cost, ExactRowsOfAlsCostMore) {
  const CsrMatrix likes = test::random_csr(1000, 500, 100.0);
  AlsParams params;
  params.factors = 64;
  const double usual = core_seconds(likes.view(), params);
  params.solver = AlsSolverKind::kCholesky;
  const double exact = core_seconds(likes.view(), params);
  EXPECT_GT(exact, 3.0 * usual);
  params.solver = AlsSolverKind::kAuto;
  params.nonnegative = true;
  EXPECT_GT(core_seconds(likes.view(), params), exact);
}

}  // namespace
}  // namespace likewise
