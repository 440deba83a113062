// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lazy.h"
#include "serving/predictor.h"

namespace likewise {

/// The same scores for everybody.
class PopularPredictor final : public Predictor {
 public:
  /// All must outlive it.
  PopularPredictor(const Model& model, const Popularity& popularity, const Device& device)
      : Predictor(model), shares_(popularity.shares), device_(device) {}

  /// Shares of users are no ratings.
  void require_predictions() const override;
  [[nodiscard]] TopKResult top_k(std::span<const AskedUser> users, Index n,
                                 const TopKFilter& filter,
                                 const RunControl& control) const override;
  void score_all(std::span<const AskedUser> users, float* out) const override;
  [[nodiscard]] std::vector<float> predict(std::span<const Index> users,
                                           std::span<const Index> items,
                                           const RunControl&) const override;

 private:
  const Array<float>& shares_;
  const Device& device_;
  Matrix no_factors_{model().items.size(), 0};
  mutable Lazy<Scorer> scorer_;
};

}  // namespace likewise
