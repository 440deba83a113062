// SPDX-License-Identifier: Apache-2.0
#include "retrieval/top_k.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/first_bad.h"
#include "core/require.h"
#include "core/system/parallel.h"
#include "likewise/memory.h"

namespace likewise {
void Scorer::top_k_into(const MatrixView& queries, const TopKFilter& filter,
                        const RunControl& control, TopKResult& result) const {
  constexpr Offset kGrain = 256;
  const TopKResult found = top_k(queries, result.k, filter, control);
  parallel_blocks(queries.rows, kGrain, [&](Offset begin, Offset end, Offset) {
    const auto copy = [&](const auto& from, auto& to, Offset each) {
      std::copy(from.begin() + begin * each, from.begin() + end * each, to.begin() + begin * each);
    };
    copy(found.items, result.items, result.k);
    copy(found.scores, result.scores, result.k);
    copy(found.counts, result.counts, 1);
  });
}

void check_item_table(const MatrixView& items, std::span<const float> item_bias, ScoreKind score) {
  require(item_bias.empty() || score == ScoreKind::kDot,
          fmt::format("{} item biases beside distances, which have none", item_bias.size()));
  require(item_bias.empty() || item_bias.size() == static_cast<std::size_t>(items.rows),
          fmt::format("{} item biases for {} items", item_bias.size(), items.rows));
}

void check_query_width(const MatrixView& items, const MatrixView& queries) {
  require(queries.rows == 0 || queries.cols == items.cols,
          fmt::format("queries have {} factors, items have {}", queries.cols, items.cols));
}

void check_top_k(const MatrixView& items, const MatrixView& queries, Index k,
                 const TopKFilter& filter) {
  check_query_width(items, queries);
  require(k >= 0, fmt::format("k must be 0 or more, not {}", k));
  const CsrView& excluded = filter.excluded;
  require(
      excluded.rows == 0 || excluded.rows == queries.rows,
      fmt::format("the exclusion filter has {} rows for {} queries", excluded.rows, queries.rows));
  require(
      excluded.rows == 0 || excluded.cols == items.rows,
      fmt::format("the exclusion filter has {} columns for {} items", excluded.cols, items.rows));
  require(filter.allowed.empty() || filter.allowed.size() == static_cast<std::size_t>(items.rows),
          fmt::format("the mask of allowed items has {} entries for {} items",
                      filter.allowed.size(), items.rows));
}

void check_numbers(const MatrixView& matrix, const char* what) {
  const auto bad = first_bad_number(matrix, [](float x) { return !is_in_range(x); });  // NaN too
  if (!bad) return;
  require(false, fmt::format("{}: the number {} in row {}, column {} is not one of at most {:g} in "
                             "size",
                             what, bad->number, bad->row, bad->column, kLargestNumber));
}

void check_top_k_numbers(const MatrixView& items, const MatrixView& queries,
                         const TopKFilter& filter) {
  check_numbers(queries, "queries");
  const CsrView& excluded = filter.excluded;
  const Offset bad = first_bad(excluded.rows, [&](Offset q) {
    Index last = -1;
    for (const Index item : excluded.row_columns(static_cast<Index>(q))) {
      if (item <= last || item >= items.rows) return true;
      last = item;
    }
    return false;
  });
  require(bad < 0, fmt::format("excluded: row {} is not a list of rising numbers in [0, {})", bad,
                               items.rows));
}

void check_room_for_lists(Offset queries, Index k) {
  constexpr double kOfNoAccount = 64 << 20;
  const double bytes = static_cast<double>(queries) * k * (sizeof(Index) + sizeof(float));
  if (bytes <= kOfNoAccount) return;
  check_memory_plan(fmt::format("{} lists of {} answers, to be asked for in parts", queries, k),
                    bytes);
}

TopKResult make_top_k_result(Index queries, Index k, Index items) {
  const Index kept = std::min(k, items);
  check_room_for_lists(queries, kept);
  const Offset entries = Offset{queries} * kept;
  return {kept, Array<Index>(entries), Array<float>(entries), Array<Index>(queries)};
}

TopKResult room_for_top_k(Index queries, Index k, Index items) {
  const Index kept = std::min(k, items);
  const Offset entries = Offset{queries} * kept;
  return {kept, Array<Index>::uninitialized(entries), Array<float>::uninitialized(entries),
          Array<Index>::uninitialized(queries)};
}

TopKResult answers_of(TopKResult& all, Index first, Index count) {
  const auto part = [&](auto& array, Offset each) {
    using Numbers = std::remove_reference_t<decltype(array)>;
    return Numbers::over({}, array.data() + first * each, count * each);
  };
  return {all.k, part(all.items, all.k), part(all.scores, all.k), part(all.counts, 1)};
}

void write_answer(std::span<const Candidate> sorted, Index query, TopKResult& result) {
  const Offset begin = Offset{query} * result.k;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    result.items[begin + static_cast<Offset>(i)] = sorted[i].item;
    result.scores[begin + static_cast<Offset>(i)] = sorted[i].score;
  }
  result.counts[query] = static_cast<Index>(sorted.size());
}

}  // namespace likewise
