// SPDX-License-Identifier: Apache-2.0
/// How many trials a bracket of successive halving begins with, and how long they are trained.
#pragma once

#include <vector>

namespace likewise {

inline constexpr int kBrackets = 3;
/// Of every so many trials one goes on, for so many times as many iterations.
inline constexpr int kKeptOneIn = 3;

struct Bracket {
  int trials = 0;
  std::vector<int> iterations;  ///< after each of which the worse ones end; one 0: no iterations
};

/// The brackets take turns: 9 trials from a ninth of the iterations, 5 from a third, 3 of all.
/// Hyperband's with R = 9 and eta = 3 (Li et al. 2018).
[[nodiscard]] Bracket bracket_of(int round, int most_iterations);

/// How many of so many go on.
[[nodiscard]] int kept_of(int trials);

}  // namespace likewise
