// SPDX-License-Identifier: Apache-2.0
#include "data/text/merge_rows.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace likewise {
namespace {

/// The rows by user, each user's in the order they came in: a counting sort.
template <class Row>
std::vector<Row> by_user(std::span<const Row> rows, Index first_user, Index last_user,
                         std::vector<std::size_t>& begins) {
  begins.assign(static_cast<std::size_t>(last_user - first_user) + 1, 0);
  for (const Row& row : rows) ++begins[static_cast<std::size_t>(row.user - first_user) + 1];
  for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
  std::vector<std::size_t> next(begins.begin(), begins.end() - 1);
  std::vector<Row> sorted(rows.size());
  for (const Row& row : rows) sorted[next[static_cast<std::size_t>(row.user - first_user)]++] = row;
  return sorted;
}

/// Order of one user's rows by item, file order among equals. Items go in the upper half of a key
/// and places in the lower, so a plain sort of integers does it.
template <class Row>
void order_by_item(std::span<Row> rows, std::vector<std::uint64_t>& keys, std::vector<Row>& copy) {
  const auto before = [](const Row& a, const Row& b) { return a.item < b.item; };
  if (std::is_sorted(rows.begin(), rows.end(), before)) return;
  if (rows.size() > std::size_t{0xffffffff})
    return std::stable_sort(rows.begin(), rows.end(), before);
  keys.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    keys[i] = static_cast<std::uint64_t>(rows[i].item) << 32 | i;
  }
  std::sort(keys.begin(), keys.end());
  copy.assign(rows.begin(), rows.end());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = copy[keys[i] & 0xffffffff];
}

/// The row whose value counts, where it is one of them.
template <class Row>
const Row& chosen(std::span<const Row> same, Duplicates duplicates) {
  if (duplicates == Duplicates::kFirst) return same.front();
  if (duplicates == Duplicates::kLast) return same.back();
  const Row* newest = &same.front();
  for (const Row& row : same) {
    if (row.time() >= newest->time()) newest = &row;
  }
  return *newest;
}

bool is_one_of_them(Duplicates duplicates) {
  return duplicates == Duplicates::kLast || duplicates == Duplicates::kFirst ||
         duplicates == Duplicates::kNewest;
}

/// One row for rows of the same user and item. For kCount their values are their weights.
template <class Row>
Row merge(std::span<const Row> same, Duplicates duplicates) {
  if (is_one_of_them(duplicates)) return chosen(same, duplicates);
  Row result = same.back();
  double sum = 0.0;
  float most = same.front().value;
  Time latest = same.front().time();
  for (const Row& row : same) {
    sum += static_cast<double>(row.value);
    most = std::max(most, row.value);
    latest = std::max(latest, row.time());
  }
  if (duplicates == Duplicates::kMean) sum /= static_cast<double>(same.size());
  result.value = duplicates == Duplicates::kMax ? most : static_cast<float>(sum);
  result.set_time(latest);
  return result;
}

}  // namespace

Duplicates chosen_policy(Duplicates wanted, bool has_values, bool has_times) {
  if (wanted != Duplicates::kAuto) return wanted;
  if (!has_values) return Duplicates::kSum;
  return has_times ? Duplicates::kNewest : Duplicates::kLast;
}

template <class Row>
MergeResult sort_and_merge(std::span<Row> rows, Index first_user, Index last_user,
                           Duplicates duplicates, Offset* counts) {
  MergeResult result;
  std::vector<std::size_t> begins;
  std::vector<Row> sorted = by_user<Row>(rows, first_user, last_user, begins);
  std::vector<std::uint64_t> keys;
  std::vector<Row> copy;
  std::size_t to = 0;
  for (std::size_t u = 0; u + 1 < begins.size(); ++u) {
    const std::span<Row> mine(sorted.data() + begins[u], begins[u + 1] - begins[u]);
    order_by_item(mine, keys, copy);
    const std::size_t start = to;
    for (std::size_t i = 0; i < mine.size();) {
      std::size_t end = i + 1;
      while (end < mine.size() && mine[end].item == mine[i].item) ++end;
      const Row& row = rows[to++] =
          end == i + 1 ? mine[i] : merge<Row>(mine.subspan(i, end - i), duplicates);
      const bool duplicate = end > i + 1 && duplicates == Duplicates::kError;
      const bool overflow = !std::isfinite(row.value);
      if (!result.fault && (duplicate || overflow)) {
        result.fault = {duplicate, overflow, row.user, row.item};
      }
      i = end;
    }
    counts[u] = static_cast<Offset>(to - start);
  }
  result.rows = static_cast<Offset>(to);
  return result;
}

template MergeResult sort_and_merge(std::span<PlainRow>, Index, Index, Duplicates, Offset*);
template MergeResult sort_and_merge(std::span<TimedRow>, Index, Index, Duplicates, Offset*);

}  // namespace likewise
