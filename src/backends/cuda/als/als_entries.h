// SPDX-License-Identifier: Apache-2.0
/// The interactions of a launch: on the GPU all the time, or brought there while the launch before
/// it runs.
#pragma once

#include "backends/cuda/als/als_tasks.h"
#include "backends/cuda/als/tables/als_matrix.h"
#include "backends/cuda/device/staging.h"

namespace likewise::cuda {

/// Copies interactions [first, end) of the matrix to `to` and weighs them.
void load_entries(const CsrView& matrix, Offset first, Offset end, const AlsParams& params,
                  RowEntry* to, Staging& staging, cudaStream_t stream);

class EntryFeed {
 public:
  /// `buffer_entries`: most of a portion where they are streamed, else 0. `compute` is the stream
  /// of the launches.
  EntryFeed(const AlsParams& params, Offset buffer_entries, Staging& staging, cudaStream_t compute);

  /// Where the launches of a portion find the interactions, counted from the first of all. Waits
  /// until the last portion but one is through, so that never more than two are in flight.
  [[nodiscard]] const RowEntry* open(const DeviceRows& rows, const RowPortion& portion);
  /// Behind the portion's launches.
  void close();

 private:
  const AlsParams& params_;
  Staging& staging_;
  cudaStream_t compute_;
  Stream copying_;
  DeviceArray<RowEntry> buffers_[2];
  Event loaded_;
  Event done_[2];
  unsigned turn_ = 0;
};

}  // namespace likewise::cuda
