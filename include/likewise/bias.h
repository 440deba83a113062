// SPDX-License-Identifier: Apache-2.0
/// Baselines of ratings, r_ui ~ mean + b_u + b_i: what a rating would be if users and items were
/// off the mean by themselves, and tastes did not exist. Any model of ratings has to beat them; of
/// neighbourhood models they are a part. Formulas and their source: math.md.
#pragma once

#include <optional>
#include <string_view>

#include "likewise/array.h"
#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/types.h"

namespace likewise {

/// What a rating is predicted by: mean and biases, the mean of all ratings, of those of its user,
/// or of those of its item.
enum class BiasKind { kBiases, kGlobalMean, kUserMean, kItemMean };

/// Their names everywhere, in the order above.
inline constexpr std::string_view kBiasKindNames[] = {"biases", "global-mean", "user-mean",
                                                      "item-mean"};

/// How biases are learned: alternating least squares or stochastic gradient descent.
enum class BiasMethod { kAls, kSgd };

struct BiasParams {
  Feedback feedback = Feedback::kExplicit;  ///< there is no other: counts have no baselines
  BiasKind baseline = BiasKind::kBiases;
  bool clip = true;  ///< kBiases: predictions stay within the scale of the training values
  BiasMethod baseline_method = BiasMethod::kAls;
  std::optional<int> baseline_epochs{};        ///< >= 0; absent: 10 by ALS, 20 by SGD
  double baseline_user_regularization = 15.0;  ///< ALS, >= 0
  double baseline_item_regularization = 10.0;  ///< ALS, >= 0
  double baseline_regularization = 0.02;       ///< SGD, >= 0
  double baseline_learning_rate = 0.005;       ///< SGD, > 0

  /// Whether there are biases of users, and of items: the others are 0.
  [[nodiscard]] constexpr bool of_users() const {
    return baseline == BiasKind::kBiases || baseline == BiasKind::kUserMean;
  }
  [[nodiscard]] constexpr bool of_items() const {
    return baseline == BiasKind::kBiases || baseline == BiasKind::kItemMean;
  }

  /// The baseline_epochs that are taken.
  [[nodiscard]] constexpr int epochs() const {
    return baseline_epochs.value_or(baseline_method == BiasMethod::kAls ? 10 : 20);
  }

  /// The same for both: ratings are what there are baselines of.
  [[nodiscard]] static BiasParams defaults(Feedback) { return {}; }

  /// Throws Error(kInvalidArgument) naming the field, its value and its range.
  void validate() const;
  friend bool operator==(const BiasParams&, const BiasParams&) = default;
};

/// The baselines b_ui = mean + b_u + b_i.
struct Biases {
  Array<float> users;  ///< b_u: one per user, or empty where all are 0
  Array<float> items;  ///< b_i
  float mean = 0.0F;

  [[nodiscard]] const Array<float>& bias(Side s) const { return s == Side::kUsers ? users : items; }
};

}  // namespace likewise
