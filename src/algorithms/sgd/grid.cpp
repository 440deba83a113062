// SPDX-License-Identifier: Apache-2.0
#include "algorithms/sgd/grid.h"

#include <algorithm>
#include <compare>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

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

/// Each row, in random order, to the stripe that has least so far: heavy rows first, of equal
/// weight those with many entries. Within a stripe rows are in random order.
[[nodiscard]] SgdSide arrange_by_weight(const CsrView& by_user, Side side, Index stripes,
                                        std::uint64_t seed, RandomStream stream,
                                        std::span<const Offset> whole,
                                        std::span<const Offset> weights) {
  struct Load {
    Offset weight = 0;
    Offset entries = 0;
    Index stripe = 0;
    auto operator<=>(const Load&) const = default;
  };
  const std::vector<Offset> counts = entry_counts(by_user, side);
  const auto rows = static_cast<Index>(counts.size());
  const Array<Index> order = shuffled(rows, seed, stream);
  const auto load_of = [&](Index place) {
    const auto row = static_cast<std::size_t>(order[place]);
    return Load{weights[row], counts[row], -place};  // the first one where they are equal
  };
  std::vector<Index> places(static_cast<std::size_t>(rows));
  std::iota(places.begin(), places.end(), 0);
  std::ranges::sort(places, std::ranges::greater{}, load_of);
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least;
  for (Index stripe = 0; stripe < stripes; ++stripe) least.push({0, 0, stripe});
  std::vector<Index> stripe_of(static_cast<std::size_t>(rows));
  std::vector<Index> begin(static_cast<std::size_t>(stripes) + 1);
  for (const Index place : places) {
    Load to = least.top();
    least.pop();
    stripe_of[static_cast<std::size_t>(place)] = to.stripe;
    ++begin[static_cast<std::size_t>(to.stripe) + 1];
    const Load more = load_of(place);
    least.push({to.weight + more.weight, to.entries + more.entries, to.stripe});
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  SgdSide result{Array<Index>::uninitialized(rows), Array<Offset>::uninitialized(rows), begin};
  for (Index place = 0; place < rows; ++place) {
    const Index at = begin[static_cast<std::size_t>(stripe_of[static_cast<std::size_t>(place)])]++;
    const auto row = static_cast<std::size_t>(order[place]);
    result.row[at] = order[place];
    result.count[at] = whole.empty() ? counts[row] : whole[row];
  }
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

/// Parts of all entries at least, so that as many threads find work.
constexpr Offset kParts = 64;

/// Numbers of a cache line.
constexpr std::size_t kLine = 64 / sizeof(Offset);

/// Every stripe of users in so many parts, which follow each other: their first users, by new
/// numbers, and the end.
[[nodiscard]] std::vector<Index> cut_users(const SgdGrid& grid, Offset parts) {
  std::vector<Index> firsts;
  for (Index stripe = 0; stripe < grid.stripes; ++stripe) {
    const Index first = grid.users.begin[static_cast<std::size_t>(stripe)];
    const Offset rows = grid.users.begin[static_cast<std::size_t>(stripe) + 1] - first;
    for (Offset part = 0; part < parts; ++part) {
      firsts.push_back(first + static_cast<Index>(rows * part / parts));
    }
  }
  firsts.push_back(grid.users.begin.back());
  return firsts;
}

/// Entries that follow each other, and how many of them each row has from the first of these rows
/// to the last.
struct RowsOfChunk {
  std::span<const SgdEntry> entries;
  Index first = 0;
  std::vector<Offset> counts;

  [[nodiscard]] Index end() const { return first + static_cast<Index>(counts.size()); }
  [[nodiscard]] Offset& of(Index row) { return counts[static_cast<std::size_t>(row - first)]; }
};

/// `turned(entry).user` is its row.
template <class Turned>
[[nodiscard]] std::vector<RowsOfChunk> count_rows(std::span<const SgdEntry> entries, Index rows,
                                                  const Turned& turned) {
  constexpr Offset kEntriesOfCount = 4;  // so that the counts are the smaller part
  const Offset all = std::ssize(entries);
  const Offset count = std::clamp<Offset>(all / (kEntriesOfCount * std::max(1, rows)), 1, kParts);
  std::vector<RowsOfChunk> chunks(static_cast<std::size_t>(count));
  parallel_for(count, 1, [&](Offset number) {
    RowsOfChunk& chunk = chunks[static_cast<std::size_t>(number)];
    const Offset begin = all * number / count;
    chunk.entries = entries.subspan(static_cast<std::size_t>(begin),
                                    static_cast<std::size_t>(all * (number + 1) / count - begin));
    if (chunk.entries.empty()) return;
    Index first = rows;
    Index last = 0;
    for (const SgdEntry& e : chunk.entries) {
      first = std::min(first, turned(e).user);
      last = std::max(last, turned(e).user);
    }
    chunk.first = first;
    chunk.counts.assign(static_cast<std::size_t>(last - first) + 1, 0);
    for (const SgdEntry& e : chunk.entries) ++chunk.of(turned(e).user);
  });
  return chunks;
}

/// The entries of each row in all chunks. Counts of a chunk become those of the chunks before it.
[[nodiscard]] std::vector<Offset> number_entries(std::span<RowsOfChunk> chunks, Index rows) {
  std::vector<Offset> all(static_cast<std::size_t>(rows));
  parallel_blocks(rows, Offset{1} << 12, [&](Offset begin, Offset end, Offset) {
    for (RowsOfChunk& chunk : chunks) {
      const auto first = std::max(static_cast<Index>(begin), chunk.first);
      const auto last = std::min(static_cast<Index>(end), chunk.end());
      for (Index row = first; row < last; ++row) {
        Offset& sum = all[static_cast<std::size_t>(row)];
        sum += std::exchange(chunk.of(row), sum);
      }
    }
  });
  return all;
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
  std::vector<RowsOfChunk> chunks = count_rows(grid.entries.span(), rows, turned);
  const std::vector<Offset> counts = number_entries(chunks, rows);
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
  parallel_for(std::ssize(chunks), 1, [&](Offset at_chunk) {
    RowsOfChunk& chunk = chunks[static_cast<std::size_t>(at_chunk)];
    for (const SgdEntry& e : chunk.entries) {
      SgdEntry entry = turned(e);
      const Index row = entry.user;
      const Offset n = chunk.of(row)++;
      const Offset piece = n * pieces(row) / count(row);
      if (piece > 0) {
        entry.user = further[static_cast<std::size_t>(row)] + static_cast<Index>(piece) - 1;
      }
      const Offset at = result.begin[static_cast<std::size_t>(entry.user)] + n - start(row, piece);
      result.entries[at] = entry;
    }
  });
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

SgdGrid make_weighted_grid(const CsrView& by_user, Index stripes, std::uint64_t seed,
                           const SgdWhole& whole, std::span<const Offset> item_weights) {
  SgdGrid grid;
  grid.stripes = stripes;
  grid.users = arrange(by_user, Side::kUsers, stripes, seed, kStreamSgdUsers, whole.user_counts);
  grid.items = arrange_by_weight(by_user, Side::kItems, stripes, seed, kStreamSgdItems,
                                 whole.item_counts, item_weights);
  static_cast<SgdBlocks&>(grid) = cut_like(grid, by_user);
  return grid;
}

SgdBlocks cut_like(const SgdGrid& grid, const CsrView& by_user) {
  const Index stripes = grid.stripes;
  const std::vector<Place> places = places_of(grid.items);
  const auto wide = static_cast<std::size_t>(stripes);
  const std::size_t parts_of_stripe = std::max<std::size_t>(1, kParts / wide);
  const std::size_t parts = wide * parts_of_stripe;
  const std::vector<Index> users = cut_users(grid, static_cast<Offset>(parts_of_stripe));
  const auto for_entries = [&](std::size_t part, const auto& take) {
    for (Index user = users[part]; user < users[part + 1]; ++user) {
      const Index row = grid.users.row[user];
      const std::span<const Index> columns = by_user.row_columns(row);
      const std::span<const float> values = by_user.row_values(row);
      for (std::size_t at = 0; at < columns.size(); ++at) {
        const Place& place = places[static_cast<std::size_t>(columns[at])];
        take(static_cast<std::size_t>(place.stripe), SgdEntry{user, place.number, values[at]});
      }
    }
  };
  // Of each part in each block of its stripe: how many entries, then where the next one goes. Parts
  // share no cache line.
  const std::size_t stride = wide + kLine;
  std::vector<Offset> next(parts * stride);
  const auto for_parts = [&](const auto& take) {
    parallel_for(static_cast<Offset>(parts), 1, [&](Offset number) {
      const auto part = static_cast<std::size_t>(number);
      for_entries(part, [&](std::size_t stripe, const SgdEntry& entry) {
        take(next[part * stride + stripe], entry);
      });
    });
  };
  for_parts([](Offset& count, const SgdEntry&) { ++count; });
  SgdBlocks blocks;
  blocks.stripes = stripes;
  Offset sum = 0;
  for (std::size_t part = 0; part < parts; part += parts_of_stripe) {
    for (std::size_t stripe = 0; stripe < wide; ++stripe) {
      blocks.begin.push_back(sum);
      for (std::size_t at = part; at < part + parts_of_stripe; ++at) {
        sum += std::exchange(next[at * stride + stripe], sum);
      }
    }
  }
  blocks.begin.push_back(sum);
  blocks.entries = Array<SgdEntry>::uninitialized(by_user.nnz());
  for_parts([&](Offset& at, const SgdEntry& entry) { blocks.entries[at++] = entry; });
  return blocks;
}

}  // namespace likewise
