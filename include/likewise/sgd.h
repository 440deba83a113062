// SPDX-License-Identifier: Apache-2.0
/// Factors by stochastic gradient descent: for explicit ratings, a rating at a time.
///
///     score(u, i) = mean + b_u + b_i + x_u . y_i
///
/// minimises, as ALS does for explicit feedback,
///
///     sum over ratings of loss(r, score)  +  sum over rows of lambda count^nu (|x|^2 + b^2)
///
/// Funk (2006); Koren, Bell, Volinsky (2009). math.md has the steps and the schedules.
#pragma once

#include <optional>
#include <string_view>

#include "likewise/csr.h"
#include "likewise/device.h"
#include "likewise/types.h"

namespace likewise {

/// Which rating comes after which.
///
/// kBlocked: the matrix is cut into stripes x stripes blocks, which are taken in a fixed rotation;
/// blocks of one turn share no row and no column, and are done at the same time. The result does
/// not depend on the number of threads.
/// kAlternating: all users' rows with the items held fixed, then all items' rows with the users
/// held fixed (Kato and Hosino 2010), rows of many ratings in pieces that are averaged (Zinkevich
/// et al. 2010). The result does not depend on the number of threads.
/// kRacing: the blocks of kBlocked at any time, though others change the same rows meanwhile
/// (Hogwild; Recht et al. 2011). No two runs are alike.
/// kSerial: one after the other, on one thread.
enum class SgdOrder { kBlocked, kAlternating, kRacing, kSerial };

inline constexpr std::string_view kSgdOrderNames[] = {"blocked", "alternating", "racing", "serial"};

/// How far a step goes, in epoch t = 1, 2, ...
///
/// kAdaptive: learning_rate over the root of 1 + what the mean squares of the row's gradients have
/// added up to (Chin et al. 2015; LIBMF).
/// kConstant: learning_rate. kInverse: learning_rate / (1 + decay (t - 1)).
/// kBold: 1.05 times as far as in the epoch before, or half as far where the objective rose (the
/// bold driver; Battiti 1989).
enum class SgdSchedule { kAdaptive, kConstant, kInverse, kBold };

inline constexpr std::string_view kSgdScheduleNames[] = {"adaptive", "constant", "inverse", "bold"};

/// kSquared: (r - score)^2. kLogistic: a value above 0 is a like, any other a dislike, the score is
/// the log-odds of a like, and the loss -2 log of the probability of what was observed.
enum class SgdLoss { kSquared, kLogistic };

inline constexpr std::string_view kSgdLossNames[] = {"squared", "logistic"};

/// Storage of factors while training; all sums are float32. A GPU takes kFp16 for kAuto, and rounds
/// numbers that it stores again and again at random, so that small steps are not lost. The CPU
/// trains in kFp32.
enum class SgdPrecision { kAuto, kFp32, kFp16 };

inline constexpr std::string_view kSgdPrecisionNames[] = {"auto", "fp32", "fp16"};

struct SgdParams {
  Feedback feedback = Feedback::kExplicit;  ///< explicit only
  int factors = 64;                         ///< f, 1 to 4096
  int iterations = 40;                      ///< epochs; 0 leaves the first factors
  SgdLoss loss = SgdLoss::kSquared;
  double regularization = 0.9;  ///< lambda, 0 to 1e15
  /// nu in lambda_row = lambda count^nu: 1 takes lambda for every rating, 0 once for a row. In
  /// [0, 1].
  double regularization_exponent = 0.5;
  bool biases = true;  ///< learn a bias per user and item on top of the mean
  /// lambda of the biases; absent: `regularization`.
  std::optional<double> bias_regularization{};
  /// Factors are 0 or more, the first ones too: a step that would take one below 0 ends there.
  /// Biases may have either sign. With the squared loss; a GPU does not do it.
  bool nonnegative = false;
  double init_stddev = 0.1;  ///< first factors are normal(0, init_stddev sqrt(spread / f))
  SgdOrder order = SgdOrder::kBlocked;
  SgdSchedule schedule = SgdSchedule::kAdaptive;
  /// Of a step, relative to the spread (standard deviation) of the values: the same for stars and
  /// for percents. 1e-15 to 1e15.
  double learning_rate = 0.02;
  double decay = 0.1;      ///< of kInverse, 0 to 1e15
  double tolerance = 0.0;  ///< stop when the objective falls by less than this share; 0 = off
  int patience = 0;        ///< stop after this many epochs without a better validation; 0 = off
  SgdPrecision precision = SgdPrecision::kAuto;
  std::uint64_t seed = 42;

  /// The same for both: it learns from ratings alone.
  [[nodiscard]] static SgdParams defaults(Feedback) { return {}; }

  /// Throws Error(kInvalidArgument) naming the field, its value and its range.
  void validate() const;
  friend bool operator==(const SgdParams&, const SgdParams&) = default;
};

}  // namespace likewise
