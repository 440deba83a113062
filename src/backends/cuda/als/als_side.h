// SPDX-License-Identifier: Apache-2.0
/// What the parts of an ALS training on a GPU share.
#pragma once

#include "backends/cuda/als/als_matrix.h"
#include "backends/cuda/als/als_row_plan.h"
#include "backends/gpu/gpu_plan.h"
#include "likewise/als.h"
#include "likewise/autotune.h"

namespace likewise::cuda {

/// How a training goes, settled before it begins.
struct AlsSetup {
  AlsSetup(const AlsParams& given, const AlsTuning& chosen);

  AlsParams params;
  AlsTuning tuning;
  bool exact;           ///< Cholesky, not conjugate gradients
  Precision precision;  ///< never kAuto
  int width;            ///< unknowns of a row
  bool biased;          ///< the last of them is a bias
  int padded;           ///< columns of the tables
  GpuAlsPlan plan;      ///< where the data is

  [[nodiscard]] bool is_explicit() const { return params.feedback == Feedback::kExplicit; }
};

/// Users or items.
struct AlsSide {
  DeviceRows rows;
  RowPlan plan;
};

/// The interactions by user and by item, and what every row needs.
class AlsData {
 public:
  /// `by_user` must outlive it.
  AlsData(const CsrView& by_user, const AlsSetup& setup, Staging& staging, cudaStream_t stream);

  [[nodiscard]] AlsSide& side(Side side) { return sides_[side == Side::kItems]; }
  [[nodiscard]] const AlsSide& side(Side side) const { return sides_[side == Side::kItems]; }
  /// A power of two not below any residual of an explicit rating.
  [[nodiscard]] float target_scale() const { return target_scale_; }
  /// Of both sides.
  [[nodiscard]] Offset sums() const { return std::max(sides_[0].plan.sums, sides_[1].plan.sums); }
  [[nodiscard]] Offset constants() const {
    return std::max(sides_[0].plan.constants, sides_[1].plan.constants);
  }

 private:
  void load_resident(const CsrView& by_user, const AlsSetup& setup, Staging& staging,
                     cudaStream_t stream);
  void load_streamed(const CsrView& by_user, Staging& staging, cudaStream_t stream);
  static void find_largest(AlsSide& side, EntryFeed& feed, cudaStream_t stream);

  CsrMatrix by_item_;  ///< where it is streamed
  Array<Offset> item_offsets_;
  AlsSide sides_[2];
  float target_scale_ = 1.0F;
};

}  // namespace likewise::cuda
