// SPDX-License-Identifier: Apache-2.0
/// What the parts of an ALS training on a GPU share.
#pragma once

#include <optional>

#include "backends/cuda/als/als_row_plan.h"
#include "backends/cuda/als/als_totals.h"
#include "backends/cuda/als/tables/als_matrix.h"
#include "backends/cuda/host/gpu_plan.h"
#include "likewise/als.h"
#include "likewise/autotune.h"

namespace likewise::cuda {

class AlsLink;

inline constexpr Side kSides[] = {Side::kUsers, Side::kItems};

/// How a training goes, resolved before it begins.
struct AlsSetup {
  AlsSetup(const AlsParams& given, const AlsTuning& chosen);

  AlsParams params;
  AlsTuning tuning;
  bool exact;           ///< Cholesky, not conjugate gradients
  Precision precision;  ///< never kAuto
  int width;            ///< unknowns of a row
  bool biased;          ///< the last of them is a bias
  int padded;           ///< columns of the tables
  bool moves_starts;    ///< of rows (als_changes.h): where a step is a pass over interactions
  GpuAlsPlan plan;      ///< where the data is

  [[nodiscard]] bool is_explicit() const { return params.feedback == Feedback::kExplicit; }
};

/// Users or items.
struct AlsSide {
  DeviceRows rows;
  RowPlan plan;
};

/// The rows of one GPU: all, or those of a rank.
struct AlsRows {
  CsrView users;                      ///< its users x all items
  std::optional<CsrView> items;       ///< its items x all users; none: GPUs find them
  const AlsTotals* totals = nullptr;  ///< of all rows; null where it has all
};

/// The interactions by user and by item, and what every row needs.
class AlsData {
 public:
  /// `rows` name what must outlive it. With a link a collective call, null for one GPU alone.
  AlsData(const AlsRows& rows, const AlsSetup& setup, AlsLink* link, Staging& staging,
          cudaStream_t stream);

  [[nodiscard]] AlsSide& side(Side side) { return sides_[side == Side::kItems]; }
  [[nodiscard]] const AlsSide& side(Side side) const { return sides_[side == Side::kItems]; }
  /// Over all rows, those of other GPUs included.
  [[nodiscard]] const AlsTotals& totals() const { return totals_; }
  /// Of both sides.
  [[nodiscard]] Offset sums() const { return std::max(sides_[0].plan.sums, sides_[1].plan.sums); }
  [[nodiscard]] Offset constants() const {
    return std::max(sides_[0].plan.constants, sides_[1].plan.constants);
  }

 private:
  void load_resident(const AlsRows& rows, const AlsSetup& setup, AlsLink* link, Staging& staging,
                     cudaStream_t stream);
  void load_streamed(const AlsRows& rows, Staging& staging, cudaStream_t stream);
  static void find_largest(AlsSide& side, EntryFeed& feed, cudaStream_t stream);

  CsrMatrix by_item_;  ///< where it is streamed, and not given
  Array<Offset> item_offsets_;
  AlsSide sides_[2];
  AlsTotals totals_;
};

}  // namespace likewise::cuda
