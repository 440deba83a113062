// SPDX-License-Identifier: Apache-2.0
/// The factors of both sides while a GPU trains: in tables on the GPU, or on the host, from where
/// blocks of their rows go through the GPU.
#pragma once

#include <algorithm>
#include <optional>

#include "backends/cuda/als/als_side.h"
#include "backends/cuda/device/staging.h"
#include "backends/jobs/als_changes.h"
#include "likewise/control.h"
#include "likewise/factors.h"

namespace likewise::cuda {

/// Tables have `padded` columns: the factors, a 1 behind them where there are biases, zeros.
class AlsFactorTables {
 public:
  /// Takes the factors from `host`, which it refers to. `compute` is the stream of all who use the
  /// tables.
  AlsFactorTables(const AlsSetup& setup, Factors& host, Staging& staging, cudaStream_t compute);

  /// Calls visit(table, first, count) for all rows in order, in one go or in blocks that begin at a
  /// multiple of `multiple`; row `first` is the first of `table`.
  template <class Visit>
  void read(Side side, Index multiple, const RunControl& control, const Visit& visit) {
    const Index rows = host_.side(side).rows();
    const Index most = is_resident() ? rows : setup_.plan.block_rows / multiple * multiple;
    for (Index first = 0; first < rows; first += std::min(most, rows - first)) {
      control.check();
      const Index count = std::min(most, rows - first);
      visit(static_cast<const float*>(open(side, first, count, Content::kRows)), first, count);
      if (!is_resident()) used_[turn_].record(compute_);
    }
  }

  /// What is of use in a table that is opened.
  enum class Content {
    kNothing,
    kRows,
    kStarts,  ///< where it is streamed, rows moved on by their changes, which close() counts
  };
  /// The table of these rows, to be written.
  [[nodiscard]] float* open(Side side, Index first, Index count, Content content);
  /// Behind what writes the rows that were opened last, with the same content.
  void close(Side side, Index first, Index count, Content content);
  /// Waits for what was closed. Returns what was counted since the last call.
  ChangeSums finish();

  /// One per row, on the GPU; null without biases.
  [[nodiscard]] float* bias(Side side) { return biases_[side == Side::kItems].data(); }

  /// Brings to the host what is not there.
  void fetch();

 private:
  struct Rows {
    Side side;
    Index first;
    Index count;
    unsigned turn;
    bool counts;
  };

  [[nodiscard]] bool is_resident() const {
    return setup_.plan.placement != Placement::kStreamedTables;
  }
  void upload(Side side, Index first, Index count, bool moved, float* to, cudaStream_t stream);
  void download(const Rows& rows, const float* from, cudaStream_t stream);
  void hand_back();

  const AlsSetup& setup_;
  Factors& host_;
  Staging& staging_;
  Staging returning_;  ///< to the host, where rows go in both directions at once
  cudaStream_t compute_;
  Stream up_;
  Stream down_;
  DeviceArray<float> tables_[2];  ///< of users and items, or buffers of blocks in turn
  DeviceArray<float> biases_[2];
  Event loaded_;
  Event used_[2];
  unsigned turn_ = 0;
  std::optional<Rows> leaving_;  ///< closed, and not on the host yet
  ChangeSums changes_;
};

}  // namespace likewise::cuda
