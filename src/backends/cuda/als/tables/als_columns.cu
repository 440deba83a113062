// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "backends/cuda/als/tables/als_columns.h"

namespace likewise::cuda {
namespace {

constexpr int kPlaceBlock = 256;

/// Entries of some users, by item: those of this rank's items.
struct Piece {
  const Offset* offsets;    ///< of the items, and their end; the first may be above 0
  const RowEntry* entries;  ///< the first is that of offsets[0]
  Offset count;
  Index first_user;  ///< what is added to the users' numbers
};

/// Puts each entry where its item's from this piece begin.
__global__ void place_entries(Piece piece, Index items, const Offset* places, RowEntry* out) {
  const Offset step = Offset{gridDim.x} * kPlaceBlock;
  for (Offset i = Offset{blockIdx.x} * kPlaceBlock + threadIdx.x; i < piece.count; i += step) {
    const Offset at = piece.offsets[0] + i;
    Index low = 0;  // the last item that begins at or before `at`
    Index high = items - 1;
    while (low < high) {
      const Index middle = low + (high - low + 1) / 2;
      if (piece.offsets[middle] <= at) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    const RowEntry entry = piece.entries[i];
    out[places[low] + at - piece.offsets[low]] = {entry.column + piece.first_user, entry.value};
  }
}

template <class T>
[[nodiscard]] std::span<const T> read_only(const T* at, Offset count) {
  return {at, static_cast<std::size_t>(count)};
}
template <class T>
[[nodiscard]] std::span<T> writable(T* at, Offset count) {
  return {at, static_cast<std::size_t>(count)};
}

/// An exchange under way. What it holds goes when a call fails: the GPU must not wait for others
/// then.
class ColumnExchange {
 public:
  ColumnExchange(const DeviceRows& users, std::span<const Offset> user_offsets, Offset at_once,
                 AlsLink& link, cudaStream_t stream)
      : link_(link),
        stream_(stream),
        parts_(link.parts(Side::kItems)),
        items_(parts_.count(link.rank())),
        by_item_(transpose_rows(users, user_offsets, at_once, stream)),
        own_offsets_(download(by_item_.offsets)),
        offsets_(static_cast<std::size_t>(parts_.ranks())) {}
  ~ColumnExchange() { link_.gpus().give_up(); }
  ColumnExchange(const ColumnExchange&) = delete;
  ColumnExchange& operator=(const ColumnExchange&) = delete;

  [[nodiscard]] DeviceRows run() {
    exchange_offsets();
    const std::vector<Offset> totals = total_offsets();
    rows_ = {items_,
             link_.parts(Side::kUsers).rows(),
             totals.back(),
             to_device(totals, stream_),
             DeviceArray<RowEntry>(totals.back()),
             {}};
    exchange_entries(rows_.entries.data(), totals);
    return std::move(rows_);
  }

 private:
  [[nodiscard]] std::vector<Offset> download(const DeviceArray<Offset>& from) {
    std::vector<Offset> values(static_cast<std::size_t>(from.size()));
    copy_to_host(values.data(), from.data(), from.size(), stream_);
    LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream_));
    return values;
  }
  [[nodiscard]] int rank_at(int distance) const {
    return (link_.rank() + distance + parts_.ranks()) % parts_.ranks();
  }
  [[nodiscard]] Offset own_offset(Index item) const {
    return own_offsets_[static_cast<std::size_t>(item)];
  }

  /// Of this rank's items, in the pieces of all ranks.
  void exchange_offsets() {
    const Index first = parts_.first(link_.rank());
    const Offset* const own = by_item_.offsets.data();
    for (DeviceArray<Offset>& one : offsets_) one = DeviceArray<Offset>(Offset{items_} + 1);
    for (int distance = 1; distance < parts_.ranks(); ++distance) {
      const int to = rank_at(distance);
      DeviceArray<Offset>& in = offsets_[static_cast<std::size_t>(rank_at(-distance))];
      link_.gpus().shift<Offset>(distance,
                                 read_only(own + parts_.first(to), Offset{parts_.count(to)} + 1),
                                 writable(in.data(), in.size()));
    }
    link_.gpus().wait();
    for (int rank = 0; rank < parts_.ranks(); ++rank) {
      if (rank == link_.rank()) {
        pieces_.emplace_back(own_offsets_.begin() + first,
                             own_offsets_.begin() + first + items_ + 1);
      } else {
        pieces_.push_back(download(offsets_[static_cast<std::size_t>(rank)]));
      }
    }
  }

  [[nodiscard]] std::vector<Offset> total_offsets() const {
    std::vector<Offset> totals(static_cast<std::size_t>(items_) + 1, 0);
    for (const std::vector<Offset>& piece : pieces_) {
      for (std::size_t i = 0; i < totals.size(); ++i) totals[i] += piece[i] - piece.front();
    }
    return totals;
  }

  /// Where the entries of each item begin that come from this rank, behind those of ranks before.
  [[nodiscard]] DeviceArray<Offset> places_of(std::size_t rank, const std::vector<Offset>& totals) {
    std::vector<Offset> places(totals.begin(), totals.end() - 1);
    for (std::size_t before = 0; before < rank; ++before) {
      for (std::size_t i = 0; i < places.size(); ++i) {
        places[i] += pieces_[before][i + 1] - pieces_[before][i];
      }
    }
    return to_device(places, stream_);
  }

  void exchange_entries(RowEntry* out, const std::vector<Offset>& totals) {
    const Index first = parts_.first(link_.rank());
    place(link_.rank(), by_item_.offsets.data() + first,
          by_item_.entries.data() + own_offset(first), totals, out);
    for (int distance = 1; distance < parts_.ranks(); ++distance) {
      const int to = rank_at(distance);
      const auto from = static_cast<std::size_t>(rank_at(-distance));
      const Offset begin = own_offset(parts_.first(to));
      received_ = {};
      received_ = DeviceArray<RowEntry>(pieces_[from].back() - pieces_[from].front());
      link_.gpus().shift<RowEntry>(
          distance, read_only(by_item_.entries.data() + begin, own_offset(parts_.end(to)) - begin),
          writable(received_.data(), received_.size()));
      link_.gpus().wait();
      place(static_cast<int>(from), offsets_[from].data(), received_.data(), totals, out);
    }
  }

  /// Waits until they are there: what they come from may go.
  void place(int rank, const Offset* offsets, const RowEntry* entries,
             const std::vector<Offset>& totals, RowEntry* out) {
    const std::vector<Offset>& piece = pieces_[static_cast<std::size_t>(rank)];
    const Offset count = piece.back() - piece.front();
    if (count == 0) return;
    const DeviceArray<Offset> places = places_of(static_cast<std::size_t>(rank), totals);
    const auto blocks = static_cast<unsigned>(
        std::min<Offset>((count + kPlaceBlock - 1) / kPlaceBlock, Offset{1} << 20));
    place_entries<<<blocks, kPlaceBlock, 0, stream_>>>(
        {offsets, entries, count, link_.parts(Side::kUsers).first(rank)}, items_, places.data(),
        out);
    LIKEWISE_CUDA_CHECK_LAUNCH();
    LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream_));
  }

  AlsLink& link_;
  cudaStream_t stream_;
  const Partition& parts_;
  Index items_;
  DeviceRows by_item_;  ///< all items x this rank's users
  std::vector<Offset> own_offsets_;
  std::vector<DeviceArray<Offset>> offsets_;  ///< from other ranks
  std::vector<std::vector<Offset>> pieces_;   ///< the same and the rank's own, on the host
  DeviceArray<RowEntry> received_;
  DeviceRows rows_;
};

}  // namespace

DeviceRows exchange_columns(const DeviceRows& users, std::span<const Offset> user_offsets,
                            Offset at_once, AlsLink& link, cudaStream_t stream) {
  return ColumnExchange(users, user_offsets, at_once, link, stream).run();
}

}  // namespace likewise::cuda
