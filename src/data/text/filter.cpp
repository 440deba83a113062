// SPDX-License-Identifier: Apache-2.0
#include "data/text/filter.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/system/parallel.h"
#include "data/select.h"
#include "likewise/error.h"

namespace likewise {
namespace {

/// One side while users and items are peeled off.
struct Peel {
  const CsrView matrix;  ///< rows of this side
  Offset least;
  std::vector<Offset> counts;  ///< interactions left, by row
  std::vector<char> dropped;   ///< by row
  std::vector<Index> waiting;  ///< dropped rows whose columns are not told yet

  Peel(const CsrView& m, Offset min_count)
      : matrix(m),
        // A row without interactions has no place in the result.
        least(std::max<Offset>(1, min_count)),
        counts(static_cast<std::size_t>(m.rows)),
        dropped(static_cast<std::size_t>(m.rows), 0) {
    for (Index row = 0; row < m.rows; ++row) {
      counts[static_cast<std::size_t>(row)] = m.row_size(row);
      drop_if_small(row);
    }
  }
  void drop_if_small(Index row) {
    const auto r = static_cast<std::size_t>(row);
    if (dropped[r] != 0 || counts[r] >= least) return;
    dropped[r] = 1;
    waiting.push_back(row);
  }
  /// Takes the waiting rows' interactions away from the other side.
  void tell(Peel& other_side) {
    for (const Index row : std::exchange(waiting, {})) {
      for (const Index column : matrix.row_columns(row)) {
        --other_side.counts[static_cast<std::size_t>(column)];
        other_side.drop_if_small(column);
      }
    }
  }
};

/// The ids of the rows that stay, and their new numbers (-1: dropped).
IdMap remaining(const IdMap& ids, const std::vector<char>& dropped, std::vector<Index>& number) {
  Index kept = 0;
  for (std::size_t i = 0; i < dropped.size(); ++i) number.push_back(dropped[i] != 0 ? -1 : kept++);
  if (ids.is_integer()) {
    auto integers = Array<std::int64_t>::uninitialized(kept);
    for (std::size_t i = 0; i < dropped.size(); ++i) {
      if (number[i] >= 0) integers[number[i]] = ids.integers()[i];
    }
    return IdMap::from_sorted_integers(std::move(integers));
  }
  Array<Offset> offsets(Offset{kept} + 1);
  std::vector<char> chars;
  for (std::size_t i = 0; i < dropped.size(); ++i) {
    if (number[i] < 0) continue;
    const auto text =
        ids.chars().subspan(static_cast<std::size_t>(ids.offsets()[i]),
                            static_cast<std::size_t>(ids.offsets()[i + 1] - ids.offsets()[i]));
    chars.insert(chars.end(), text.begin(), text.end());
    offsets[number[i] + 1] = static_cast<Offset>(chars.size());
  }
  return IdMap::from_sorted_text(Array<char>::copy_of(chars), std::move(offsets));
}

/// Drops rows and columns from maps and matrix alike.
Interactions without(Interactions data, const std::vector<char>& no_user,
                     const std::vector<char>& no_item) {
  std::vector<Index> user_number;
  std::vector<Index> item_number;
  IdMap users = remaining(data.users, no_user, user_number);
  IdMap items = remaining(data.items, no_item, item_number);
  Interactions kept = select(data, [&](Index user, Offset at) {
    return user_number[static_cast<std::size_t>(user)] >= 0 &&
           item_number[static_cast<std::size_t>(data.by_user.columns[at])] >= 0;
  });
  CsrMatrix& m = kept.by_user;
  Index row = 0;
  for (Index user = 0; user < m.rows; ++user) {
    if (user_number[static_cast<std::size_t>(user)] >= 0) m.offsets[++row] = m.offsets[user + 1];
  }
  parallel_for(m.nnz(), 1 << 16, [&](Offset at) {
    m.columns[at] = item_number[static_cast<std::size_t>(m.columns[at])];
  });
  m.rows = row;
  m.cols = items.size();
  kept.by_user.offsets =
      Array<Offset>::copy_of(m.offsets.span().first(static_cast<std::size_t>(row) + 1));
  kept.users = std::move(users);
  kept.items = std::move(items);
  return kept;
}

void check_left(const Interactions& data, const std::string& options, const std::string& file) {
  if (data.by_user.nnz() > 0) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{}: no interactions are left: lower {}", file, options));
}

}  // namespace

void check_filters(const ReadOptions& options) {
  const auto fail = [](const std::string& why) { throw Error(ErrorKind::kInvalidArgument, why); };
  if (options.min_value && !std::isfinite(*options.min_value)) {
    fail(fmt::format("{} must be a finite number, not {}", mention("min_value"),
                     *options.min_value));
  }
  if (options.min_user_count < 0) {
    fail(fmt::format("{} must be at least 0, not {}", mention("min_user_count"),
                     options.min_user_count));
  }
  if (options.min_item_count < 0) {
    fail(fmt::format("{} must be at least 0, not {}", mention("min_item_count"),
                     options.min_item_count));
  }
}

Interactions filter(Interactions data, const ReadOptions& options, const std::string& file,
                    ReadSummary& summary) {
  // Also a least count of 1 drops something: rows from memory may be empty.
  if (!options.min_value && options.min_user_count == 0 && options.min_item_count == 0 &&
      !options.since && !options.until) {
    return data;
  }
  const Offset all = data.by_user.nnz();
  if (options.min_value) {
    Interactions strong = select(data, [&](Index, Offset at) {
      return static_cast<double>(data.by_user.values[at]) >= *options.min_value;
    });
    strong.users = std::move(data.users);
    strong.items = std::move(data.items);
    data = std::move(strong);
    check_left(data, mention("min_value"), file);
  }
  summary.below_min_value = all - data.by_user.nnz();

  const CsrMatrix by_item = transpose(data.by_user.view());
  Peel users(data.by_user.view(), options.min_user_count);
  Peel items(by_item.view(), options.min_item_count);
  while (!users.waiting.empty() || !items.waiting.empty()) {
    users.tell(items);
    items.tell(users);
  }
  const Offset strong = data.by_user.nnz();
  data = without(std::move(data), users.dropped, items.dropped);
  check_left(data, mentions("{min_user_count} or {min_item_count}"), file);
  summary.below_min_count = strong - data.by_user.nnz();
  return data;
}

}  // namespace likewise
