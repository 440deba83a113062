// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/row_exchange.h"

#include <algorithm>

#include "backends/distributed/piece.h"

namespace likewise {
namespace {

[[nodiscard]] std::vector<Offset> begins_of(const Partition& parts,
                                            const std::vector<Index>& needed) {
  std::vector<Offset> begins;
  for (int rank = 0; rank < parts.ranks(); ++rank) {
    begins.push_back(std::ranges::lower_bound(needed, parts.first(rank)) - needed.begin());
  }
  begins.push_back(std::ssize(needed));
  return begins;
}

}  // namespace

RowExchange::RowExchange(Communicator& ranks, const Partition& parts, std::vector<Index> needed)
    : first_(parts.first(ranks.rank())),
      needed_(std::move(needed)),
      begins_(begins_of(parts, needed_)),
      wanted_(static_cast<std::size_t>(ranks.size())) {
  const int size = ranks.size();
  const std::span<const Index> all(needed_);
  for (int distance = 1; distance < size; ++distance) {
    const auto to = static_cast<std::size_t>((ranks.rank() + distance) % size);
    const auto from = static_cast<std::size_t>((ranks.rank() - distance + size) % size);
    const Offset count = begins_[to + 1] - begins_[to];
    Offset wanted = 0;
    ranks.shift<Offset>(distance, {&count, 1}, {&wanted, 1});
    wanted_[from].resize(static_cast<std::size_t>(wanted));
    ranks.shift<Index>(distance, piece(all, begins_[to], begins_[to + 1]), wanted_[from]);
  }
}

void RowExchange::fetch(Communicator& ranks, std::span<const float> own, Offset numbers,
                        std::span<float> rows) const {
  const int size = ranks.size();
  const auto pack = [&](std::span<const Index> wanted, float* to) {
    for (const Index row : wanted) {
      to = std::copy_n(own.data() + Offset{row - first_} * numbers, numbers, to);
    }
  };
  const auto place = [&](std::size_t rank) {
    return piece(rows, begins_[rank] * numbers, begins_[rank + 1] * numbers);
  };
  const auto me = static_cast<std::size_t>(ranks.rank());
  pack(piece(needed(), begins_[me], begins_[me + 1]), place(me).data());
  std::vector<float> packed;
  for (int distance = 1; distance < size; ++distance) {
    const auto to = static_cast<std::size_t>((ranks.rank() + distance) % size);
    const auto from = static_cast<std::size_t>((ranks.rank() - distance + size) % size);
    packed.resize(wanted_[to].size() * static_cast<std::size_t>(numbers));
    pack(wanted_[to], packed.data());
    ranks.shift<float>(distance, packed, place(from));
  }
}

}  // namespace likewise
