// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/share_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/system/parallel.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16;  ///< interactions that are staged together

/// Interactions by rows of one side.
struct Cells {
  Array<Index> rows;
  Array<Index> columns;
  Array<float> values;

  Cells() = default;
  explicit Cells(Offset count)
      : rows(Array<Index>::uninitialized(count)),
        columns(Array<Index>::uninitialized(count)),
        values(Array<float>::uninitialized(count)) {}
  [[nodiscard]] Offset size() const { return rows.size(); }
};

template <class T>
[[nodiscard]] std::span<T> piece(Array<T>& all, Offset first, Offset count) {
  return all.span().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

/// How much each rank gets from each: entry [from * size + to].
[[nodiscard]] std::vector<Offset> gather_counts(Communicator& ranks, std::span<const Offset> mine) {
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<Offset> all(size * size);
  ranks.all_gather<Offset>(mine, all, std::vector<Offset>(size, ranks.size()));
  return all;
}

/// All cells that the ranks have for this one, in the order of the ranks. take(rank) gives what
/// goes there, once.
template <class Take>
[[nodiscard]] Cells exchange(Communicator& ranks, std::span<const Offset> mine, const Take& take) {
  const int size = ranks.size();
  const auto me = static_cast<std::size_t>(ranks.rank());
  const std::vector<Offset> counts = gather_counts(ranks, mine);
  std::vector<Offset> begins{0};
  for (std::size_t from = 0; from < static_cast<std::size_t>(size); ++from) {
    begins.push_back(begins.back() + counts[from * static_cast<std::size_t>(size) + me]);
  }
  Cells all(begins.back());
  const auto count_of = [&](std::size_t from) { return begins[from + 1] - begins[from]; };
  {
    const Cells own = take(ranks.rank());
    std::copy_n(own.rows.data(), own.size(), all.rows.data() + begins[me]);
    std::copy_n(own.columns.data(), own.size(), all.columns.data() + begins[me]);
    std::copy_n(own.values.data(), own.size(), all.values.data() + begins[me]);
  }
  for (int distance = 1; distance < size; ++distance) {
    const auto from = static_cast<std::size_t>((ranks.rank() - distance + size) % size);
    const Cells out = take((ranks.rank() + distance) % size);
    ranks.shift<Index>(distance, out.rows.span(), piece(all.rows, begins[from], count_of(from)));
    ranks.shift<Index>(distance, out.columns.span(),
                       piece(all.columns, begins[from], count_of(from)));
    ranks.shift<float>(distance, out.values.span(),
                       piece(all.values, begins[from], count_of(from)));
  }
  return all;
}

/// Cells as rows [first, first + rows), each in the order in which its cells come.
[[nodiscard]] CsrMatrix rows_of_cells(const Cells& cells, Index first, Index rows, Index cols) {
  CsrMatrix matrix{rows, cols, Array<Offset>(Offset{rows} + 1),
                   Array<Index>::uninitialized(cells.size()),
                   Array<float>::uninitialized(cells.size())};
  for (const Index row : cells.rows.span()) ++matrix.offsets[row - first + 1];
  std::partial_sum(matrix.offsets.begin(), matrix.offsets.end(), matrix.offsets.begin());
  std::vector<Offset> next(matrix.offsets.begin(), matrix.offsets.end() - 1);
  for (Offset i = 0; i < cells.size(); ++i) {
    const Offset at = next[static_cast<std::size_t>(cells.rows[i] - first)]++;
    matrix.columns[at] = cells.columns[i];
    matrix.values[at] = cells.values[i];
  }
  return matrix;
}

struct Cell {
  Index column;
  float value;
};

/// Values of one cell, from the smallest to the largest.
[[nodiscard]] float merged(std::span<const Cell> same, RepeatedCells policy, Index user) {
  switch (policy) {
    case RepeatedCells::kMax:
      return same.back().value;
    case RepeatedCells::kError:
      throw Error(ErrorKind::kBadData,
                  fmt::format("user {} has item {} {} times: add them up, or take their mean or "
                              "the largest",
                              user, same.front().column, same.size()));
    case RepeatedCells::kSum:
    case RepeatedCells::kMean:
      break;
  }
  double sum = 0.0;
  for (const Cell& one : same) sum += one.value;
  if (policy == RepeatedCells::kMean) sum /= static_cast<double>(same.size());
  return static_cast<float>(sum);
}

/// Sorts a row and merges its repeated cells; returns how many are left, in front.
[[nodiscard]] Offset tidy_row(Index* columns, float* values, Offset count, RepeatedCells policy,
                              Index user, std::vector<Cell>& cells) {
  const auto rises = [&] {
    for (Offset i = 1; i < count; ++i) {
      if (columns[i - 1] >= columns[i]) return false;
    }
    return true;
  };
  if (rises()) return count;
  cells.resize(static_cast<std::size_t>(count));
  for (Offset i = 0; i < count; ++i) cells[static_cast<std::size_t>(i)] = {columns[i], values[i]};
  std::ranges::sort(cells, [](const Cell& a, const Cell& b) {
    return a.column != b.column ? a.column < b.column : a.value < b.value;
  });
  Offset left = 0;
  for (std::size_t begin = 0; begin < cells.size();) {
    std::size_t end = begin + 1;
    while (end < cells.size() && cells[end].column == cells[begin].column) ++end;
    columns[left] = cells[begin].column;
    values[left] = end == begin + 1 ? cells[begin].value
                                    : merged({cells.data() + begin, end - begin}, policy, user);
    ++left;
    begin = end;
  }
  return left;
}

/// Rows whose columns rise strictly. Returns how many entries fell away.
Offset tidy(CsrMatrix& matrix, RepeatedCells policy, Index first_user) {
  std::vector<Offset> left(static_cast<std::size_t>(matrix.rows));
  parallel_blocks(matrix.rows, 256, [&](Offset begin, Offset end, Offset) {
    std::vector<Cell> cells;
    for (Offset row = begin; row < end; ++row) {
      const Offset at = matrix.offsets[row];
      left[static_cast<std::size_t>(row)] = tidy_row(
          matrix.columns.data() + at, matrix.values.data() + at, matrix.offsets[row + 1] - at,
          policy, first_user + static_cast<Index>(row), cells);
    }
  });
  const Offset before = matrix.columns.size();
  const Offset after = std::accumulate(left.begin(), left.end(), Offset{0});
  if (after == before) return 0;
  CsrMatrix kept{matrix.rows, matrix.cols, Array<Offset>(Offset{matrix.rows} + 1),
                 Array<Index>::uninitialized(after), Array<float>::uninitialized(after)};
  for (Index row = 0; row < matrix.rows; ++row) {
    const Offset count = left[static_cast<std::size_t>(row)];
    std::copy_n(matrix.columns.data() + matrix.offsets[row], count,
                kept.columns.data() + kept.offsets[row]);
    std::copy_n(matrix.values.data() + matrix.offsets[row], count,
                kept.values.data() + kept.offsets[row]);
    kept.offsets[row + 1] = kept.offsets[row] + count;
  }
  matrix = std::move(kept);
  return before - after;
}

[[noreturn]] void refuse(Index user, Index item, float value, Index users, Index items) {
  const bool inside = user >= 0 && user < users && item >= 0 && item < items;
  throw Error(ErrorKind::kBadData,
              inside ? fmt::format("the value {} of user row {}, item row {} is no finite number: "
                                   "leave its row out",
                                   std::isnan(value) ? std::abs(value) : value, user, item)
                     : fmt::format("user {}, item {}, value {}: users are 0 to {}, items 0 to {}",
                                   user, item, value, users - 1, items - 1));
}

}  // namespace

StagedInteractions::StagedInteractions(const Partition& users, Index items)
    : users_(users), items_(items), staged_(static_cast<std::size_t>(users.ranks())) {}

void StagedInteractions::add(std::span<const Index> users, std::span<const Index> items,
                             std::span<const float> values) {
  if (users.size() != items.size() || users.size() != values.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} users, {} items and {} values: one of each for an interaction",
                            users.size(), items.size(), values.size()));
  }
  for (std::size_t i = 0; i < users.size(); ++i) {
    const bool fits = users[i] >= 0 && users[i] < users_.rows() && items[i] >= 0 &&
                      items[i] < items_ && std::isfinite(values[i]);
    if (!fits) refuse(users[i], items[i], values[i], users_.rows(), items_);
    const int rank = users_.ranks() == 1 ? 0 : users_.owner(users[i]);
    std::vector<Block>& blocks = staged_[static_cast<std::size_t>(rank)];
    if (blocks.empty() || blocks.back().users.size() == kBlock) {
      Block& fresh = blocks.emplace_back();
      fresh.users.reserve(kBlock);
      fresh.items.reserve(kBlock);
      fresh.values.reserve(kBlock);
    }
    Block& block = blocks.back();
    block.users.push_back(users[i]);
    block.items.push_back(items[i]);
    block.values.push_back(values[i]);
  }
}

CsrMatrix StagedInteractions::share(Communicator& ranks, RepeatedCells policy, Offset& repeated) {
  std::vector<Offset> mine;
  for (const std::vector<Block>& blocks : staged_) {
    Offset count = 0;
    for (const Block& block : blocks) count += std::ssize(block.users);
    mine.push_back(count);
  }
  const Index first = users_.first(ranks.rank());
  const Index rows = users_.count(ranks.rank());
  CsrMatrix matrix;
  {
    const Cells cells = exchange(ranks, mine, [&](int rank) {
      std::vector<Block> blocks = std::move(staged_[static_cast<std::size_t>(rank)]);
      Cells out(mine[static_cast<std::size_t>(rank)]);
      Offset at = 0;
      for (Block& block : blocks) {
        std::ranges::copy(block.users, out.rows.data() + at);
        std::ranges::copy(block.items, out.columns.data() + at);
        std::ranges::copy(block.values, out.values.data() + at);
        at += std::ssize(block.users);
        block = {};
      }
      return out;
    });
    matrix = rows_of_cells(cells, first, rows, items_);
  }
  repeated = tidy(matrix, policy, first);
  return matrix;
}

CsrMatrix share_by_item(Communicator& ranks, const CsrView& own_users, const Partition& users,
                        const Partition& items) {
  const Index first_user = users.first(ranks.rank());
  // Columns rise, so those of one rank are together.
  const auto for_rank = [&](int rank, const auto& body) {
    for (Index row = 0; row < own_users.rows; ++row) {
      const auto columns = own_users.row_columns(row);
      const auto begin = std::ranges::lower_bound(columns, items.first(rank));
      const auto end = std::lower_bound(begin, columns.end(), items.end(rank));
      body(row, begin - columns.begin(), end - columns.begin());
    }
  };
  std::vector<Offset> mine;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    Offset count = 0;
    for_rank(rank, [&](Index, Offset begin, Offset end) { count += end - begin; });
    mine.push_back(count);
  }
  const Cells cells = exchange(ranks, mine, [&](int rank) {
    Cells out(mine[static_cast<std::size_t>(rank)]);
    Offset at = 0;
    for_rank(rank, [&](Index row, Offset begin, Offset end) {
      std::fill_n(out.columns.data() + at, end - begin, first_user + row);
      std::copy_n(own_users.row_columns(row).data() + begin, end - begin, out.rows.data() + at);
      std::copy_n(own_users.row_values(row).data() + begin, end - begin, out.values.data() + at);
      at += end - begin;
    });
    return out;
  });
  return rows_of_cells(cells, items.first(ranks.rank()), items.count(ranks.rank()), users.rows());
}

}  // namespace likewise
