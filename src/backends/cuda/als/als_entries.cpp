// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/als_entries.h"

#include "core/system/parallel.h"

namespace likewise::cuda {

void load_entries(const CsrView& matrix, Offset first, Offset end, const AlsParams& params,
                  RowEntry* to, Staging& staging, cudaStream_t stream) {
  constexpr Offset kBlock = Offset{1} << 15;
  const auto fill = [&](RowEntry* entries, Offset begin, Offset count) {
    const Index* columns = matrix.columns + first + begin;
    const float* values = matrix.values + first + begin;
    parallel_for(count, kBlock, [=](Offset i) { entries[i] = {columns[i], values[i]}; });
  };
  staging.upload(to, end - first, 1, fill, stream);
  weigh_entries(to, end - first, params, stream);
}

EntryFeed::EntryFeed(const AlsParams& params, Offset buffer_entries, Staging& staging,
                     cudaStream_t compute)
    : params_(params),
      staging_(staging),
      compute_(compute),
      buffers_{DeviceArray<RowEntry>(buffer_entries), DeviceArray<RowEntry>(buffer_entries)} {}

const RowEntry* EntryFeed::open(const DeviceRows& rows, const RowPortion& portion) {
  turn_ ^= 1U;
  done_[turn_].wait();
  if (rows.entries.size() > 0) return rows.entries.data();
  RowEntry* const buffer = buffers_[turn_].data();
  load_entries(rows.host, portion.first_entry, portion.end_entry, params_, buffer, staging_,
               copying_);
  loaded_.record(copying_);
  loaded_.hold(compute_);
  return moved_back(buffer, portion.first_entry);
}

void EntryFeed::close() { done_[turn_].record(compute_); }

}  // namespace likewise::cuda
