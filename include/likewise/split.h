// SPDX-License-Identifier: Apache-2.0
/// Splits interactions into a training and a test part, always seeded and reproducible: the result
/// depends on the interactions and the options alone, not on threads or the order of a file.
///
/// Draws are keyed by an interaction's position in `by_user`. Users or items may end up with
/// nothing in one part; both parts keep all of them, so indices agree.
#pragma once

#include <optional>
#include <vector>

#include "likewise/interactions.h"

namespace likewise {

enum class SplitMethod {
  kRandom,  ///< a share of all interactions, drawn without regard to users
  /// The newest interactions of every user. A user with no more than `last` of them stays whole in
  /// training: there would be nothing to learn from. Which of equally new ones go where is drawn.
  kLast,
  /// The newest share of all interactions: nothing in training is newer than anything in the test.
  /// Which of the interactions at the very time of the cut go where is drawn. Or all from `at` on.
  /// With `rolling` what would be the test is cut into as many parts by time, of equal size as far
  /// as times allow: each is the test of a split that trains on all that is older than it.
  kTime,
  kKFold,  ///< every interaction is in the test part of one fold; sizes differ by 1 at most
  /// Of every user a share of the interactions, or `rows` of them, drawn. A share is rounded, takes
  /// at least one and leaves at least one in training; a user with no more than `rows` stays whole
  /// in training.
  kPerUser,
  /// A share of the items with all of their interactions: what was never seen in training.
  kColdItems,
};

struct SplitOptions {
  SplitMethod method = SplitMethod::kRandom;
  /// random, time, per-user: share of the interactions, cold-items: of the items; in (0, 1),
  /// rounded
  double test = 0.2;
  Index last = 1;  ///< last: how many newest interactions per user, >= 1
  int folds = 5;   ///< kfold: 2 to 1000
  Index rows = 0;  ///< per-user: how many interactions per user, in place of a share; 0: a share
  std::optional<Time> at{};  ///< time: the test begins here, in place of a share
  int rolling = 0;           ///< time: how many splits, 2 to 1000; 0: one
  std::uint64_t seed = 42;   ///< of what is drawn: all but time with `at` or `rolling` draw

  /// Throws Error(kInvalidArgument) naming the field, its value and its range.
  void validate() const;
};

/// How a validation part is cut where nobody says: a fifth of each user's interactions, so that
/// users with few count as much as they do where the model is used.
[[nodiscard]] inline SplitOptions validation_split() {
  return {.method = SplitMethod::kPerUser, .test = 0.2};
}

struct Split {
  Interactions train;  ///< both parts keep all users and items: indices agree
  Interactions test;
};

/// One Split, or `folds` or `rolling` of them (each a copy of all the data: see split_fold).
/// Errors: kInvalidArgument (names the field; kLast and kTime need times; a part would be empty).
[[nodiscard]] std::vector<Split> split(const Interactions& all, const SplitOptions& options);

/// Fold `fold` of kKFold, in [0, folds): the same as split(all, options)[fold].
[[nodiscard]] Split split_fold(const Interactions& all, const SplitOptions& options, int fold);

}  // namespace likewise
