// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/sgd/sgd_feed.h"

#include <utility>

#include "core/system/parallel.h"

namespace likewise::cuda {

SgdFeed::SgdFeed(Offset portion, Staging& staging, cudaStream_t compute)
    : staging_(staging),
      compute_(compute),
      buffers_{DeviceArray<SgdEntry>(portion), DeviceArray<SgdEntry>(portion)} {}

void SgdFeed::copy(const Array<SgdEntry>& from, Offset first, Offset end, SgdEntry* to,
                   cudaStream_t stream) {
  constexpr Offset kBlock = Offset{1} << 15;
  const auto fill = [&](SgdEntry* entries, Offset begin, Offset count) {
    const SgdEntry* source = from.data() + first + begin;
    parallel_for(count, kBlock, [=](Offset i) { entries[i] = source[i]; });
  };
  staging_.upload(to, end - first, 1, fill, stream);
}

SgdDeviceWork SgdFeed::load(GpuSgdWork work) {
  SgdDeviceWork loaded;
  loaded.host = std::move(work);
  loaded.tasks = to_device(loaded.host.tasks, compute_);
  loaded.losses = DeviceArray<double>(std::ssize(loaded.host.tasks));
  loaded.host.tasks = {};
  if (is_streamed()) return loaded;
  loaded.entries = DeviceArray<SgdEntry>(loaded.host.entries.size());
  copy(loaded.host.entries, 0, loaded.entries.size(), loaded.entries.data(), compute_);
  loaded.host.entries = {};
  return loaded;
}

const SgdEntry* SgdFeed::open(const SgdDeviceWork& work, const SgdLaunch& launch) {
  if (!is_streamed()) return moved_back(work.entries.data() + launch.place, launch.first_entry);
  turn_ ^= 1U;
  done_[turn_].wait();
  SgdEntry* const buffer = buffers_[turn_].data();
  const Offset count = launch.end_entry - launch.first_entry;
  copy(work.host.entries, launch.place, launch.place + count, buffer, copying_);
  loaded_.record(copying_);
  loaded_.hold(compute_);
  return moved_back(buffer, launch.first_entry);
}

void SgdFeed::close() {
  if (is_streamed()) done_[turn_].record(compute_);
}

}  // namespace likewise::cuda
