// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>

#include "backends/jobs/ease.h"
#include "serving/predictor.h"
#include "serving/score_lists.h"

namespace likewise {

/// score(x, j) = sum over the items i of x of x_i B_ij, in double precision. Lists are made by the
/// device, where that makes them; all else is added up by the processor.
class ItemWeightsPredictor final : public Predictor {
 public:
  /// Model and weights must outlive it.
  ItemWeightsPredictor(const Model& model, const ItemWeights& learned, const Device& device)
      : Predictor(model), weights_(learned.weights), device_(device) {}

  [[nodiscard]] TopKResult top_k(std::span<const AskedUser> users, Index n,
                                 const TopKFilter& filter,
                                 const RunControl& control) const override;
  void score_all(std::span<const AskedUser> users, float* out) const override;
  /// 0 for an unknown user or item.
  [[nodiscard]] std::vector<float> predict(std::span<const Index> users,
                                           std::span<const Index> items,
                                           const RunControl&) const override;
  /// Of items: those that add most to the score of the item, by what a value of 1 adds. There is
  /// one metric.
  [[nodiscard]] TopKResult similar(Side side, std::span<const Index> rows, Index n,
                                   SimilarityMetric metric,
                                   const RunControl& control) const override;
  [[nodiscard]] Explanation explain(const AskedUser& user, Index item) const override;

 private:
  void score(std::span<const AskedUser> users, const RunControl& control,
             const TakeScores& take) const;
  [[nodiscard]] double score(const AskedUser& user, Index item) const;

  /// Null where the processor is to make lists of users with so many entries. Once made they stay.
  [[nodiscard]] const WeightLists* device_lists(Offset entries) const;
  [[nodiscard]] TopKResult top_k_on(const WeightLists& lists, std::span<const AskedUser> users,
                                    Index n, const TopKFilter& filter,
                                    const RunControl& control) const;
  [[nodiscard]] TopKResult add_up(std::span<const AskedUser> users, Index n,
                                  const TopKFilter& filter, const RunControl& control) const;

  const Matrix& weights_;
  Device device_;
  mutable std::mutex making_;
  mutable std::unique_ptr<WeightLists> lists_;
};

}  // namespace likewise
