// SPDX-License-Identifier: Apache-2.0
/// Predictions over several devices: the numbers of one device, bit-identical.
#pragma once

#include <memory>

#include "backends/distributed/devices/rank_devices.h"
#include "backends/jobs/predictions.h"

namespace likewise {

/// Every device has the whole model and predicts a part of the pairs, or of the rows.
class RankedPredictionJob final : public PredictionJob {
 public:
  explicit RankedPredictionJob(RankDevices ranks) : ranks_(std::move(ranks)) {}

  [[nodiscard]] std::unique_ptr<Predictions> by_factors(const Factors& factors) const override;
  [[nodiscard]] std::unique_ptr<Predictions> by_knn(const KnnModel& model) const override;

 private:
  RankDevices ranks_;
};

}  // namespace likewise
