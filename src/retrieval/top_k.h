// SPDX-License-Identifier: Apache-2.0
/// What every scorer shares: the order of answers, the checks of a call, the empty result.
#pragma once

#include <cmath>
#include <span>

#include "backends/jobs/top_k.h"

namespace likewise {

/// One possible answer.
struct Candidate {
  float score = 0.0F;
  Index item = 0;
};

/// The order of answers: higher scores first, ties to the smaller item.
inline constexpr auto before = [](const Candidate& a, const Candidate& b) {
  return a.score != b.score ? a.score > b.score : a.item < b.item;
};

/// Throws Error(kInvalidArgument) naming what does not fit: widths, k, the filter's shapes.
void check_top_k(const MatrixView& items, const MatrixView& queries, Index k,
                 const TopKFilter& filter);
/// Throws Error(kInvalidArgument) naming a number of a query that is not finite or beyond
/// kLargestNumber, and a row of the filter that is not a list of rising items.
void check_top_k_numbers(const MatrixView& items, const MatrixView& queries,
                         const TopKFilter& filter);
void check_query_width(const MatrixView& items, const MatrixView& queries);

[[nodiscard]] inline bool is_in_range(float x) { return std::abs(x) <= kLargestNumber; }
/// Throws Error(kInvalidArgument) naming the first number that is out of range: `what` has it.
void check_numbers(const MatrixView& matrix, const char* what);

/// Throws Error(kInvalidArgument) when `item_bias` is neither empty nor one per item, and when
/// there is one beside distances.
void check_item_table(const MatrixView& items, std::span<const float> item_bias, ScoreKind score);

/// Throws Error(kOutOfMemory) with the figures where so many lists of k entries cannot fit.
void check_room_for_lists(Offset queries, Index k);

/// Room for `queries` answers of min(k, items) entries each, counts 0.
[[nodiscard]] TopKResult make_top_k_result(Index queries, Index k, Index items);

/// The same, to be written from end to end: what it holds is unspecified.
[[nodiscard]] TopKResult room_for_top_k(Index queries, Index k, Index items);
/// The answers of queries [first, first + count) of `all`, whose memory they are.
[[nodiscard]] TopKResult answers_of(TopKResult& all, Index first, Index count);

/// Writes `sorted` (at most result.k) as the answer of `query`.
void write_answer(std::span<const Candidate> sorted, Index query, TopKResult& result);

}  // namespace likewise
