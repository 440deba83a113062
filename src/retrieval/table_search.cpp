// SPDX-License-Identifier: Apache-2.0
#include "retrieval/table_search.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/jobs/device_jobs.h"
#include "core/first_bad.h"
#include "core/system/parallel.h"
#include "likewise/error.h"

namespace likewise {

TableSearch::TableSearch(const MatrixView& table, std::span<const float> bias, const Metric& metric,
                         const Device& device)
    : metric_(metric),
      transformed_(metric.transform != nullptr ? metric.transform(table) : Matrix()),
      table_(metric.transform != nullptr ? transformed_.view() : table) {
  const bool plain = metric.score == ScoreKind::kDot && metric.transform == nullptr;
  if (!bias.empty() && !plain) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("a bias is added to dot products: the metric {} has no place for one",
                            metric.name));
  }
  scorer_ = job<TopKJob>(device).make_scorer(table_, bias, metric.score);
}

Matrix TableSearch::transformed(const MatrixView& queries) const {
  if (metric_.transform != nullptr) return metric_.transform(queries);
  Matrix copy(queries.rows, queries.cols);
  parallel_for(queries.rows, 1024, [&](Offset r) {
    std::ranges::copy(queries.row_span(static_cast<Index>(r)), copy.row(static_cast<Index>(r)));
  });
  return copy;
}

TopKResult TableSearch::top_k(const MatrixView& queries, Index n, const TopKFilter& filter,
                              const RunControl& control) const {
  TopKResult answers = scorer_->top_k(queries, n, filter, control);
  if (metric_.finish != nullptr) {
    parallel_for(answers.scores.size(), 1 << 16,
                 [&](Offset i) { answers.scores[i] = metric_.finish(answers.scores[i]); });
  }
  return answers;
}

std::vector<std::uint8_t> allowed_rows(std::span<const Index> allow, std::span<const Index> deny,
                                       Index rows, const char* what) {
  check_rows(allow, 0, rows, fmt::format("allow: {}", what).c_str());
  check_rows(deny, 0, rows, fmt::format("deny: {}", what).c_str());
  if (allow.empty() && deny.empty()) return {};
  std::vector<std::uint8_t> allowed(static_cast<std::size_t>(rows), allow.empty() ? 1 : 0);
  for (const Index row : allow) allowed[static_cast<std::size_t>(row)] = 1;
  for (const Index row : deny) allowed[static_cast<std::size_t>(row)] = 0;
  return allowed;
}

void check_rows(std::span<const Index> rows, Index lowest, Index end, const char* what) {
  const Offset bad = first_bad(std::ssize(rows), [&](Offset at) {
    const Index row = rows[static_cast<std::size_t>(at)];
    return row < lowest || row >= end;
  });
  if (bad < 0) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{} index {} is outside [{}, {})", what,
                          rows[static_cast<std::size_t>(bad)], lowest, end));
}

}  // namespace likewise
