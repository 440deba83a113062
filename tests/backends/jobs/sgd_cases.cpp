// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/jobs/sgd_cases.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/csr_entries.h"
#include "tests/support.h"

namespace likewise::test {
namespace {

[[nodiscard]] CsrMatrix half_of_all_items() {
  std::vector<Entry> entries;
  for (Index i = 0; i < 9000; ++i) entries.push_back({11, i, 1.0F + static_cast<float>(i % 5)});
  for (Index u = 0; u < 6000; ++u) {
    if (u != 11 && u % 7 != 0) entries.push_back({u, 40, 1.0F + static_cast<float>(u % 4)});
    if (u != 11 && u % 3 == 1) entries.push_back({u, 5 + u % 30, 2.0F});
  }
  return make_csr(6000, 9100, entries);
}

}  // namespace

std::vector<SgdCase> sgd_cases(SgdOrder order) {
  SgdParams params;
  params.order = order;
  params.factors = 11;
  params.learning_rate = 0.05;
  std::vector<SgdCase> all{{"plain", params}};
  params.biases = false;
  all.push_back({"no biases", params});
  params.biases = true;
  params.schedule = SgdSchedule::kConstant;
  params.learning_rate = 0.002;
  all.push_back({"constant", params});
  params.loss = SgdLoss::kLogistic;
  params.schedule = SgdSchedule::kAdaptive;
  params.regularization = 0.01;
  all.push_back({"logistic", params});
  return all;
}

CsrMatrix SgdMatrix::for_loss(SgdLoss loss) const {
  CsrMatrix m = matrix.clone();
  if (loss == SgdLoss::kLogistic) {
    for (float& value : m.values) value -= 2.5F;
  }
  return m;
}

std::vector<SgdMatrix> sgd_matrices() {
  std::vector<SgdMatrix> all;
  all.push_back({"no entries", make_csr(4, 5, {})});
  all.push_back({"no rows", make_csr(0, 5, {})});
  const Entry cell{0, 0, 2.0F};
  all.push_back({"one cell", make_csr(1, 1, {&cell, 1})});
  all.push_back({"fewer users than ranks", random_csr(3, 40, 9.0, 2)});
  all.push_back({"some", random_csr(300, 120, 20.0, 3)});
  all.push_back({"half in a row", half_of_all_items()});
  return all;
}

void expect_same_bits(const Factors& a, const Factors& b) {
  for (const Side side : {Side::kUsers, Side::kItems}) {
    ASSERT_EQ(a.side(side).rows(), b.side(side).rows());
    for (Index r = 0; r < a.side(side).rows(); ++r) {
      ASSERT_TRUE(std::ranges::equal(a.side(side).row_span(r), b.side(side).row_span(r)))
          << side_name(side) << " row " << r;
    }
    ASSERT_TRUE(std::ranges::equal(a.bias(side), b.bias(side))) << side_name(side);
    ASSERT_TRUE(std::ranges::equal(a.squares(side), b.squares(side))) << side_name(side);
  }
}

}  // namespace likewise::test
