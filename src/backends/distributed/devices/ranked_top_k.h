// SPDX-License-Identifier: Apache-2.0
/// Top-k over several devices: the lists of one device, bit-identical.
#pragma once

#include <memory>
#include <optional>

#include "backends/distributed/devices/rank_devices.h"
#include "backends/jobs/top_k.h"

namespace likewise {

/// Where the items are. math.md, "Top-k over ranks", says what each moves.
enum class ItemPlacement {
  kWhole,  ///< all on every device: each answers its part of the queries
  kParts,  ///< a part on each device: all queries pass by all of them, around a ring
};

class RankedTopKJob final : public TopKJob {
 public:
  /// Items are on every device where they fit, unless `placement` says where.
  explicit RankedTopKJob(RankDevices ranks, std::optional<ItemPlacement> placement = {})
      : ranks_(std::move(ranks)), placement_(placement) {}

  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(const MatrixView& items,
                                                    std::span<const float> item_bias,
                                                    ScoreKind score) const override;

 private:
  [[nodiscard]] ItemPlacement place(const MatrixView& items) const;

  RankDevices ranks_;
  std::optional<ItemPlacement> placement_;
};

}  // namespace likewise
