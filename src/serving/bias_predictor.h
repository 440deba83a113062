// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/rating_scale.h"
#include "core/lazy.h"
#include "serving/predictor.h"

namespace likewise {

/// mean + b_u + b_i, and lists by b_i: the same for everybody, but for what each has seen. Outside
/// users get a bias as in training, from what they rated.
class BiasPredictor final : public Predictor {
 public:
  /// All must outlive it.
  BiasPredictor(const Model& model, const Biases& learned, const Device& device, bool clip);

  /// In the order of b_i, which clipping does not change.
  [[nodiscard]] TopKResult top_k(std::span<const AskedUser> users, Index n,
                                 const TopKFilter& filter,
                                 const RunControl& control) const override;
  /// The items' biases: whatever the user's level and the scale, they are the order.
  [[nodiscard]] std::vector<float> ranking_scores(std::span<const Index> users,
                                                  std::span<const Index> items) const override;
  void score_all(std::span<const AskedUser> users, float* out) const override;
  [[nodiscard]] std::vector<float> predict(std::span<const Index> users,
                                           std::span<const Index> items,
                                           const RunControl&) const override;

 private:
  /// Throws where all items are alike.
  void require_order() const;
  /// mean + b_u
  [[nodiscard]] double level_of(const AskedUser& user) const;

  const Biases& learned_;
  const BiasParams params_;
  const Device& device_;
  RatingScale on_scale_;
  Matrix no_factors_{model().items.size(), 0};
  mutable Lazy<Scorer> scorer_;
};

}  // namespace likewise
