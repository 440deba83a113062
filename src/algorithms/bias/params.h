// SPDX-License-Identifier: Apache-2.0
/// The parameters of baselines; the fields of BiasParams say the same to C++.
#pragma once

#include "algorithms/parameters/parameter.h"
#include "likewise/bias.h"

namespace likewise {

template <>
struct EnumNames<BiasKind> {
  static constexpr std::span<const std::string_view> kAll = kBiasKindNames;
};
template <>
struct EnumNames<BiasMethod> {
  static constexpr std::string_view kNames[] = {"als", "sgd"};
  static constexpr std::span<const std::string_view> kAll = kNames;
};

/// Of all that predict ratings and have it.
template <class P>
constexpr auto clip_parameter() {
  return Parameter{"clip", &P::clip,
                   "Predicted ratings stay within the scale of the training values"};
}

/// How biases are learned: the same fields of BiasParams and of KnnParams, which have an
/// effect where `has_biases` says so.
template <class P, bool (*has_biases)(const P&)>
struct BiasLearning {
  static constexpr bool by_als(const P& p) {
    return has_biases(p) && p.baseline_method == BiasMethod::kAls;
  }
  static constexpr bool by_sgd(const P& p) {
    return has_biases(p) && p.baseline_method == BiasMethod::kSgd;
  }

  /// What there are biases with, and biases by one method.
  struct Needs {
    const char* biases;
    const char* by_als;
    const char* by_sgd;
  };
  static constexpr auto all(const Needs& needs) {
    return std::tuple{
        Parameter{"baseline_method", &P::baseline_method, "How user and item biases are learned"}
            .only_if(has_biases, needs.biases),
        Parameter{"baseline_epochs", &P::baseline_epochs, "Passes over the ratings"}
            .between(0, 1'000'000, "in [0, 1000000]")
            .by_default("10 als, 20 sgd")
            .only_if(has_biases, needs.biases),
        Parameter{"baseline_user_regularization", &P::baseline_user_regularization,
                  "als: pulls user biases to 0"}
            .not_negative()
            .only_if(by_als, needs.by_als),
        Parameter{"baseline_item_regularization", &P::baseline_item_regularization,
                  "als: pulls item biases to 0"}
            .not_negative()
            .only_if(by_als, needs.by_als),
        Parameter{"baseline_regularization", &P::baseline_regularization, "sgd: pulls biases to 0"}
            .not_negative()
            .only_if(by_sgd, needs.by_sgd),
        Parameter{"baseline_learning_rate", &P::baseline_learning_rate, "sgd: size of a step"}
            .positive()
            .only_if(by_sgd, needs.by_sgd)};
  }
};

template <>
struct Description<BiasParams> {
  using P = BiasParams;

  static constexpr bool has_biases(const P& p) { return p.baseline == BiasKind::kBiases; }

  static constexpr auto kAll = std::tuple_cat(
      std::tuple{Parameter{"feedback", &P::feedback, kFeedbackMeaning},
                 Parameter{"baseline", &P::baseline,
                           "What predicts a rating: mean and biases, or a mean alone"},
                 clip_parameter<P>().only_if(has_biases, "{baseline biases}")},
      BiasLearning<P, has_biases>::all({"{baseline biases}",
                                        "{baseline biases} with {baseline_method als}",
                                        "{baseline biases} with {baseline_method sgd}"}));
};

}  // namespace likewise
