// SPDX-License-Identifier: Apache-2.0
#include "algorithms/sgd/grid.h"

#include <algorithm>
#include <numeric>

#include <tbb/parallel_sort.h>

#include "core/random.h"
#include "core/system/parallel.h"
#include "likewise/matrix.h"

namespace likewise {
namespace {

/// All rows in random order.
[[nodiscard]] Array<Index> shuffled(Index rows, std::uint64_t seed, RandomStream stream) {
  struct Key {
    std::uint64_t random = 0;
    Index row = 0;
    bool operator<(const Key& other) const {
      return random != other.random ? random < other.random : row < other.row;
    }
  };
  std::vector<Key> keys(static_cast<std::size_t>(rows));
  parallel_for(rows, 4096, [&](Offset row) {
    CounterRandom random(seed, stream, static_cast<std::uint64_t>(row));
    keys[static_cast<std::size_t>(row)] = {random.next_u64(), static_cast<Index>(row)};
  });
  tbb::parallel_sort(keys.begin(), keys.end());
  auto order = Array<Index>::uninitialized(rows);
  for (Index at = 0; at < rows; ++at) order[at] = keys[static_cast<std::size_t>(at)].row;
  return order;
}

/// In random order, cut into stripes of about as many entries each.
[[nodiscard]] SgdSide arrange(const CsrView& by_user, Side side, Index stripes, std::uint64_t seed,
                              RandomStream stream, std::span<const Offset> whole) {
  const std::vector<Offset> counts = entry_counts(by_user, side);
  const auto rows = static_cast<Index>(counts.size());
  SgdSide result{shuffled(rows, seed, stream), Array<Offset>::uninitialized(rows), {0}};
  std::vector<Index>& begin = result.begin;
  Offset sum = 0;
  for (Index at = 0; at < rows; ++at) {
    // A stripe ends where its share is reached, but leaves none of the later ones without a share.
    while (std::ssize(begin) < stripes && sum * stripes >= by_user.nnz() * std::ssize(begin) &&
           at > 0) {
      begin.push_back(at);
    }
    const auto row = static_cast<std::size_t>(result.row[at]);
    result.count[at] = whole.empty() ? counts[row] : whole[row];
    sum += counts[row];
  }
  begin.resize(static_cast<std::size_t>(stripes) + 1, rows);
  return result;
}

/// Of a column of the matrix.
struct Place {
  Index number = 0;
  Index stripe = 0;
};

[[nodiscard]] std::vector<Place> places_of(const SgdSide& side) {
  std::vector<Place> places(static_cast<std::size_t>(side.row.size()));
  for (std::size_t stripe = 0; stripe + 1 < side.begin.size(); ++stripe) {
    for (Index number = side.begin[stripe]; number < side.begin[stripe + 1]; ++number) {
      places[static_cast<std::size_t>(side.row[number])] = {number, static_cast<Index>(stripe)};
    }
  }
  return places;
}

/// Bytes of an item stripe: half of a core's L2 cache. Users' rows pass by once per block.
constexpr Offset kStripeBytes = Offset{512} << 10;
/// Stripes at least: as many threads find work.
constexpr Offset kFewestStripes = 16;
constexpr Offset kMostStripes = 1024;

}  // namespace

Index sgd_stripes(const SgdShape& shape, const SgdParams& params) {
  if (params.order == SgdOrder::kSerial || params.order == SgdOrder::kAlternating) return 1;
  const Offset bytes = Offset{shape.items} * padded_stride(params.factors) * Offset{sizeof(float)};
  const Offset wanted =
      std::clamp((bytes + kStripeBytes - 1) / kStripeBytes, kFewestStripes, kMostStripes);
  return static_cast<Index>(std::clamp<Offset>(std::min(shape.users, shape.items), 1, wanted));
}

SgdRowEntries entries_by_row(const SgdGrid& grid, Side side) {
  const auto turned = [&](const SgdEntry& e) {
    return side == Side::kUsers ? e : SgdEntry{e.item, e.user, e.value};
  };
  const SgdSide& own = side == Side::kUsers ? grid.users : grid.items;
  const auto rows = static_cast<Index>(own.row.size());
  std::vector<Offset> counts(static_cast<std::size_t>(rows));
  for (const SgdEntry& e : grid.entries) ++counts[static_cast<std::size_t>(turned(e).user)];
  const auto count = [&](Index row) { return counts[static_cast<std::size_t>(row)]; };
  // Entry n of a row is in its piece n * pieces / count, piece 0 being the row's own line.
  SgdRowEntries result;
  std::vector<Offset> sizes(static_cast<std::size_t>(rows));
  std::vector<Index> further(static_cast<std::size_t>(rows));  // line of piece 1
  const auto pieces = [&](Index row) {
    return std::max<Offset>(1, (count(row) + kSgdPiece - 1) / kSgdPiece);
  };
  const auto start = [&](Index row, Offset piece) {
    return (count(row) * piece + pieces(row) - 1) / pieces(row);
  };
  for (Index row = 0; row < rows; ++row) {
    sizes[static_cast<std::size_t>(row)] = start(row, 1);
    further[static_cast<std::size_t>(row)] = rows + static_cast<Index>(result.piece_of.size());
    for (Offset piece = 1; piece < pieces(row); ++piece) {
      result.piece_of.push_back(row);
      sizes.push_back(start(row, piece + 1) - start(row, piece));
    }
  }
  result.begin.assign(sizes.size() + 1, 0);
  std::partial_sum(sizes.begin(), sizes.end(), result.begin.begin() + 1);
  result.entries = Array<SgdEntry>::uninitialized(grid.entries.size());
  std::vector<Offset> done(static_cast<std::size_t>(rows));
  for (const SgdEntry& e : grid.entries) {
    SgdEntry entry = turned(e);
    const Index row = entry.user;
    const Offset n = done[static_cast<std::size_t>(row)]++;
    const Offset piece = n * pieces(row) / count(row);
    if (piece > 0) {
      entry.user = further[static_cast<std::size_t>(row)] + static_cast<Index>(piece) - 1;
    }
    const Offset at = result.begin[static_cast<std::size_t>(entry.user)] + n - start(row, piece);
    result.entries[at] = entry;
  }
  return result;
}

std::vector<SgdPieces> pieces_of(const SgdRowEntries& rows) {
  std::vector<SgdPieces> all;
  for (std::size_t at = 0; at < rows.piece_of.size(); ++at) {
    const Index row = rows.piece_of[at];
    const Index line = rows.rows() + static_cast<Index>(at);
    if (all.empty() || all.back().row != row) all.push_back({row, line, line, rows.size(row)});
    all.back().last = line + 1;
    all.back().entries += rows.size(line);
  }
  return all;
}

SgdGrid make_sgd_grid(const CsrView& by_user, Index stripes, std::uint64_t seed,
                      const SgdWhole& whole) {
  SgdGrid grid;
  grid.stripes = stripes;
  grid.users = arrange(by_user, Side::kUsers, stripes, seed, kStreamSgdUsers, whole.user_counts);
  grid.items = arrange(by_user, Side::kItems, stripes, seed, kStreamSgdItems, whole.item_counts);
  static_cast<SgdBlocks&>(grid) = cut_like(grid, by_user);
  return grid;
}

SgdBlocks cut_like(const SgdGrid& grid, const CsrView& by_user) {
  const Index stripes = grid.stripes;
  const std::vector<Place> places = places_of(grid.items);
  const auto wide = static_cast<std::size_t>(stripes);
  SgdBlocks blocks;
  blocks.stripes = stripes;
  blocks.begin.assign(wide * wide + 1, 0);
  const auto for_entries = [&](Offset p, const auto& take) {
    const auto stripe = static_cast<std::size_t>(p);
    for (Index user = grid.users.begin[stripe]; user < grid.users.begin[stripe + 1]; ++user) {
      const Index row = grid.users.row[user];
      const std::span<const Index> columns = by_user.row_columns(row);
      const std::span<const float> values = by_user.row_values(row);
      for (std::size_t at = 0; at < columns.size(); ++at) {
        const Place& place = places[static_cast<std::size_t>(columns[at])];
        take(stripe * wide + static_cast<std::size_t>(place.stripe),
             SgdEntry{user, place.number, values[at]});
      }
    }
  };
  parallel_for(stripes, 1, [&](Offset p) {
    for_entries(p, [&](std::size_t block, const SgdEntry&) { ++blocks.begin[block + 1]; });
  });
  std::partial_sum(blocks.begin.begin(), blocks.begin.end(), blocks.begin.begin());
  blocks.entries = Array<SgdEntry>::uninitialized(by_user.nnz());
  std::vector<Offset> next(blocks.begin.begin(), blocks.begin.end() - 1);
  parallel_for(stripes, 1, [&](Offset p) {
    for_entries(p, [&](std::size_t block, const SgdEntry& entry) {
      blocks.entries[next[block]++] = entry;
    });
  });
  return blocks;
}

}  // namespace likewise
