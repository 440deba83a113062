// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "likewise/types.h"

namespace likewise {

/// term(0) + ... + term(count - 1) in double precision, added up as src/backends/jobs/top_k.h says.
template <class Term>
[[nodiscard]] double in_eight_sums(Index count, const Term& term) {
  double s[8] = {};
  for (Index j = 0; j < count; ++j) s[j % 8] += term(j);
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/// a . b; products are exact.
[[nodiscard]] inline double dot(const float* a, const float* b, Index count) {
  return in_eight_sums(count, [&](Index j) { return double{a[j]} * double{b[j]}; });
}

}  // namespace likewise
