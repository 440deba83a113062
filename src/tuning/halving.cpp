// SPDX-License-Identifier: Apache-2.0
#include "tuning/halving.h"

#include <algorithm>

namespace likewise {

Bracket bracket_of(int round, int most_iterations) {
  constexpr int kTrials[kBrackets] = {9, 5, 3};
  const int at = round % kBrackets;
  Bracket bracket{kTrials[at], {}};
  if (most_iterations == 0) {
    bracket.iterations = {0};
    return bracket;
  }
  for (int iterations = most_iterations; std::ssize(bracket.iterations) < kBrackets - at;
       iterations /= kKeptOneIn) {
    bracket.iterations.insert(bracket.iterations.begin(), std::max(1, iterations));
  }
  return bracket;
}

int kept_of(int trials) { return std::max(1, trials / kKeptOneIn); }

}  // namespace likewise
