// SPDX-License-Identifier: Apache-2.0
/// Neighbours over several devices: the lists of one device, bit-identical.
#pragma once

#include <functional>
#include <memory>

#include "backends/distributed/devices/rank_devices.h"
#include "backends/jobs/knn.h"

namespace likewise {

/// Whether so many devices are worth their start for the k nearest of every row.
using SharePays = std::function<bool(const SimilarityProblem& problem, Index k, int devices)>;

/// Each device searches a part of the pairs, and all lists of a row are merged.
class RankedKnnJob final : public KnnJob {
 public:
  /// Devices of one kind. With `pays` only the searches that pay are shared out, and the first
  /// device does the rest; each search remarks who does it.
  explicit RankedKnnJob(RankDevices ranks, SharePays pays = {})
      : ranks_(std::move(ranks)), pays_(std::move(pays)) {}

  [[nodiscard]] std::unique_ptr<KnnSearch> make_search(
      const SimilarityProblem& problem) const override;

 private:
  RankDevices ranks_;
  SharePays pays_;
};

}  // namespace likewise
