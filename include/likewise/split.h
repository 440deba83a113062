// SPDX-License-Identifier: Apache-2.0
/// Splits interactions into a training and a test part, always seeded and reproducible.
#pragma once

#include <vector>

#include "likewise/interactions.h"

namespace likewise {

enum class SplitMethod { kRandom, kLast, kTime, kKFold };

struct SplitOptions {
  SplitMethod method = SplitMethod::kRandom;
  double test = 0.2;          ///< random, time: share of the interactions, in (0, 1)
  Index last = 1;             ///< last: how many newest interactions per user, >= 1
  int folds = 5;              ///< kfold: 2 to 1000
  std::uint64_t seed = 42;
};

struct Split {
  Interactions train;         ///< both parts keep all users and items: indices agree
  Interactions test;
};

/// One Split, or `folds` of them. Errors: kInvalidArgument (names the field; kLast and kTime need
/// times).
[[nodiscard]] std::vector<Split> split(const Interactions& all, const SplitOptions& options);

}  // namespace likewise
