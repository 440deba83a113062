// SPDX-License-Identifier: Apache-2.0
/// Bayesian personalised ranking: factors that rank what a user liked above what it did not take.
///
///     score(u, i) = b_i + x_u . y_i
///
/// For each like (u, i) of an epoch an item j is drawn that u has not liked, and a step is taken
/// against the gradient of
///
///     -ln sigma(score(u, i) - score(u, j)) + lambda / 2 (|x_u|^2 + |y_i|^2 + |y_j|^2 + b_i^2 +
///     b_j^2)
///
/// Rendle, Freudenthaler, Gantner, Schmidt-Thieme: BPR: Bayesian personalized ranking from implicit
/// feedback, UAI 2009. math.md has the order of the steps.
#pragma once

#include <string_view>

#include "likewise/csr.h"
#include "likewise/device.h"
#include "likewise/factors.h"
#include "likewise/sgd.h"
#include "likewise/types.h"

namespace likewise {

/// How the items are drawn that a user has not liked: each as likely as another, or as often as it
/// was liked by others.
enum class BprNegatives { kUniform, kPopular };

inline constexpr std::string_view kBprNegativesNames[] = {"uniform", "popular"};

/// Where the item drawn is one that the user likes: kRedraw draws again, up to 32 times, so that
/// each like gets its step. kSkip goes without, which spares the popular items of users with many
/// likes.
enum class BprLikedDraws { kRedraw, kSkip };

inline constexpr std::string_view kBprLikedDrawsNames[] = {"redraw", "skip"};

/// Which step comes after which, as SgdOrder.
enum class BprOrder { kBlocked, kRacing };

inline constexpr std::string_view kBprOrderNames[] = {"blocked", "racing"};

struct BprParams {
  Feedback feedback = Feedback::kImplicit;  ///< implicit only: values above 0 are likes
  int factors = 64;                         ///< f, 1 to 4096
  int iterations = 100;                     ///< epochs; 0 leaves the first factors
  double regularization = 0.01;             ///< lambda of one step, 0 to 1e15
  double learning_rate = 0.05;              ///< of a step, 1e-15 to 1e15
  bool biases = true;                       ///< learn a bias per item
  double init_stddev = 0.1;                 ///< first factors are normal(0, init_stddev / sqrt(f))
  BprNegatives negatives = BprNegatives::kUniform;
  BprLikedDraws liked_draws = BprLikedDraws::kRedraw;
  BprOrder order = BprOrder::kBlocked;
  double tolerance = 0.0;  ///< stop when the objective falls by less than this share; 0 = off
  int patience = 0;        ///< stop after this many epochs without a better validation; 0 = off
  SgdPrecision precision = SgdPrecision::kAuto;
  std::uint64_t seed = 42;

  /// The same for both: it learns from likes alone.
  [[nodiscard]] static BprParams defaults(Feedback) { return {}; }

  /// Throws Error(kInvalidArgument) naming the field, its value and its range.
  void validate() const;
  friend bool operator==(const BprParams&, const BprParams&) = default;
};

/// How many likes score above an item drawn for each, and for how many likes none was found.
struct BprHits {
  Offset correct = 0;
  Offset skipped = 0;
};

/// Of factors after an epoch; the items are drawn as in training, from all items with interactions.
/// A pure function of its arguments, whose shapes fit.
[[nodiscard]] BprHits sample_hits(const CsrView& by_user, const Factors& factors,
                                  const BprParams& params, int epoch);

}  // namespace likewise
