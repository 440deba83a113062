// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/als_link.h"

#include <algorithm>

namespace likewise::cuda {
namespace {

/// Smaller chunks are not worth the calls. From one GPU alone the copy engines fetch them, which
/// takes longer for each copy.
[[nodiscard]] Offset chunk_bytes(int ranks) { return Offset{ranks > 2 ? 12 : 32} << 20; }
constexpr Offset kMostChunks = 8;

/// The same on all ranks.
[[nodiscard]] int chunks_of(const Partition& parts, Offset row_bytes) {
  const Offset largest = parts.largest_count() * row_bytes;
  return static_cast<int>(std::clamp<Offset>(largest / chunk_bytes(parts.ranks()), 1, kMostChunks));
}

}  // namespace

void AlsLink::add_up(DeviceArray<double>& values, cudaStream_t stream) {
  gpus_->follow(stream);
  gpus_->all_reduce({values.data(), static_cast<std::size_t>(values.size())});
  gpus_->lead(stream);
}

void AlsLink::share(Side side, std::byte* table, Offset row_bytes, cudaStream_t stream) {
  gpus_->follow(stream);
  gpus_->share_rows(table, row_bytes, parts(side));
  gpus_->lead(stream);
}

void AlsLink::take_from_first(DeviceArray<float>& values, cudaStream_t stream) {
  const std::span<float> all(values.data(), static_cast<std::size_t>(values.size()));
  std::vector<Offset> counts(static_cast<std::size_t>(gpus_->size()), 0);
  counts[0] = values.size();
  gpus_->follow(stream);
  gpus_->all_gather<float>(rank() == 0 ? all : all.first(0), all, counts);
  gpus_->lead(stream);
}

void AlsLink::note_traffic(bool last_is_to_come) {
  const Share& share = shares_[last_is_to_come ? 1 - last_share_ : last_share_];
  const double seconds = share.begun.until(share.arrived);
  traffic_.bytes += share.bytes;
  traffic_.seconds += seconds;
  traffic_.exposed += std::clamp(share.made.until(share.arrived), 0.0, seconds);
}

TableShare::TableShare(AlsLink& link, Side side, std::byte* table, Offset row_bytes,
                       cudaStream_t stream)
    : link_(link),
      parts_(link.parts(side)),
      table_(table),
      row_bytes_(row_bytes),
      stream_(stream),
      chunks_(chunks_of(parts_, row_bytes)) {
  if (link.chunk_made_.size() < kMostChunks) link.chunk_made_.resize(kMostChunks);
  link.last_share_ = 1 - link.last_share_;
  link.last_share().bytes = 0;
}

TableShare::Range TableShare::range(int chunk, int rank) const {
  const Offset rows = parts_.count(rank);
  return {static_cast<Index>(rows * chunk / chunks_),
          static_cast<Index>(rows * (chunk + 1) / chunks_)};
}

void TableShare::made(Index end) {
  while (chunk_ < chunks_ && chunk_end() <= end) {
    link_.chunk_made_[static_cast<std::size_t>(chunk_++)].record(stream_);
  }
}

void TableShare::send() {
  made(parts_.count(link_.rank()));
  std::vector<RowChunk> chunks(static_cast<std::size_t>(chunks_));
  AlsLink::Share& share = link_.last_share();
  for (int chunk = 0; chunk < chunks_; ++chunk) {
    const auto c = static_cast<std::size_t>(chunk);
    for (int rank = 0; rank < parts_.ranks(); ++rank) {
      const Range part = range(chunk, rank);
      chunks[c].parts.push_back({parts_.first(rank) + part.begin, part.end - part.begin});
      if (rank != link_.rank()) share.bytes += (part.end - part.begin) * row_bytes_;
    }
    chunks[c].made = &link_.chunk_made_[c];
  }
  DeviceCommunicator& gpus = link_.gpus();
  share.made.record(stream_);
  link_.chunk_made_.front().hold(gpus.stream());  // nothing begins before
  share.begun.record(gpus.stream());
  gpus.share_rows(table_, row_bytes_, chunks);
  share.arrived.record(gpus.stream());
}

}  // namespace likewise::cuda
