// SPDX-License-Identifier: Apache-2.0
/// Cuts a long list of queries into batches, so that memory stays bounded whatever its length.
#pragma once

#include <algorithm>
#include <span>

#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/matrix.h"
#include "likewise/top_k.h"
#include "retrieval/top_k.h"

namespace likewise {

inline constexpr Index kBatchQueries = 1 << 15;

/// Rows of `table` in the order of `rows`.
[[nodiscard]] Matrix gather_rows(const MatrixView& table, std::span<const Index> rows);
/// Rows of `matrix` in the order of `rows`; values are left out (a filter has none).
[[nodiscard]] CsrMatrix gather_rows(const CsrView& matrix, std::span<const Index> rows);

/// Calls answer(rows of the batch, control) -> TopKResult for each batch and strings the answers
/// together; `k` is the length of every batch's answers. Progress counts over all batches.
template <class Answer>
TopKResult in_batches(std::span<const Index> rows, Index k, const RunControl& control,
                      const Answer& answer) {
  const auto total = static_cast<Offset>(rows.size());
  check_room_for_lists(total, k);
  TopKResult all{k, Array<Index>::uninitialized(total * k), Array<float>::uninitialized(total * k),
                 Array<Index>::uninitialized(total)};
  for (Offset first = 0; first < total; first += kBatchQueries) {
    const Offset count = std::min<Offset>(kBatchQueries, total - first);
    RunControl part = control;
    part.on_progress = [&](const ProgressUpdate& update) {
      control.report(update.stage, first + update.done, total, update.unit);
    };
    const TopKResult answers = answer(
        rows.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)), part);
    std::copy(answers.items.begin(), answers.items.end(), all.items.begin() + first * k);
    std::copy(answers.scores.begin(), answers.scores.end(), all.scores.begin() + first * k);
    std::copy(answers.counts.begin(), answers.counts.end(), all.counts.begin() + first);
  }
  return all;
}

}  // namespace likewise
