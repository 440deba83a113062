// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/als_link.h"

#include <algorithm>

namespace likewise::cuda {
namespace {

/// Smaller chunks are not worth the calls.
constexpr Offset kChunkBytes = Offset{12} << 20;
constexpr Offset kMostChunks = 8;

/// The same on all ranks.
[[nodiscard]] int chunks_of(const Partition& parts, Offset row_bytes) {
  const Offset largest = parts.largest_count() * row_bytes;
  return static_cast<int>(std::clamp<Offset>(largest / kChunkBytes, 1, kMostChunks));
}

}  // namespace

void AlsLink::add_up(DeviceArray<double>& values, cudaStream_t stream) {
  gpus_->follow(stream);
  gpus_->all_reduce({values.data(), static_cast<std::size_t>(values.size())});
  gpus_->lead(stream);
}

void AlsLink::share(Side side, std::byte* table, Offset row_bytes, cudaStream_t stream) {
  std::vector<RowRange> ranges;
  for (int rank = 0; rank < parts(side).ranks(); ++rank) {
    ranges.push_back({parts(side).first(rank), parts(side).count(rank)});
  }
  gpus_->follow(stream);
  gpus_->share_rows(table, row_bytes, ranges);
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

void AlsLink::note_traffic() {
  const double seconds = begun_.until(arrived_);
  traffic_.seconds += seconds;
  traffic_.exposed += std::clamp(made_.until(arrived_), 0.0, seconds);
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

void TableShare::send(int chunk) {
  std::vector<RowRange> ranges;
  for (int rank = 0; rank < parts_.ranks(); ++rank) {
    const Range part = range(chunk, rank);
    ranges.push_back({parts_.first(rank) + part.begin, part.end - part.begin});
    if (rank != link_.rank()) link_.traffic_.bytes += ranges.back().count * row_bytes_;
  }
  link_.chunk_made_[static_cast<std::size_t>(chunk)].hold(link_.gpus().stream());
  if (chunk == 0) link_.begun_.record(link_.gpus().stream());
  link_.gpus().share_rows(table_, row_bytes_, ranges);
}

void TableShare::finish() {
  made(parts_.count(link_.rank()));
  link_.made_.record(stream_);
  for (int chunk = 0; chunk < chunks_; ++chunk) send(chunk);
  link_.arrived_.record(link_.gpus().stream());
  link_.gpus().lead(stream_);
}

}  // namespace likewise::cuda
