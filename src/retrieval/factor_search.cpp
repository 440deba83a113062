// SPDX-License-Identifier: Apache-2.0
#include "likewise/factor_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/first_bad.h"
#include "core/require.h"
#include "core/system/parallel.h"
#include "likewise/error.h"
#include "likewise/matrix.h"
#include "retrieval/table_search.h"
#include "retrieval/top_k.h"

namespace likewise {
namespace {

constexpr Offset kBlock = 1024;

void check_bias(std::span<const float> bias, Index rows) {
  require(bias.empty() || std::ssize(bias) == rows,
          fmt::format("{} biases for a table of {} rows", bias.size(), rows));
  const auto bad = std::ranges::find_if_not(bias, is_in_range);
  if (bad == bias.end()) return;
  require(false, fmt::format("bias: the number {} of row {} is not one of at most {:g} in size",
                             *bad, bad - bias.begin(), kLargestNumber));
}

void check_excluded(const CsrView& excluded, Index queries, Index rows) {
  require(excluded.rows == queries && excluded.cols == rows,
          fmt::format("excluded is {} x {}: {} queries and a table of {} rows need {} x {}",
                      excluded.rows, excluded.cols, queries, rows, queries, rows));
  if (queries == 0) return;
  const Offset* const offsets = excluded.offsets;
  require(offsets[0] == 0, fmt::format("excluded: the first offset is {}, not 0", offsets[0]));
  const Offset fall = first_bad(queries, [&](Offset q) { return offsets[q + 1] < offsets[q]; });
  require(fall < 0,
          fmt::format("excluded: the offset after row {} is less than that before", fall));
}

/// Whether kernels may read it as it is: whole aligned vectors, zeros behind the columns.
[[nodiscard]] bool is_padded(const MatrixView& table) {
  constexpr std::uintptr_t kAlignment = 64;
  const Index padded = padded_stride(table.cols);
  if (table.stride < padded || table.stride % 16 != 0 ||
      reinterpret_cast<std::uintptr_t>(table.data) % kAlignment != 0) {
    return false;
  }
  return first_bad(table.rows, [&](Offset r) {
           const float* const row = table.row(static_cast<Index>(r));
           return std::any_of(row + table.cols, row + padded, [](float x) { return x != 0.0F; });
         }) < 0;
}

[[nodiscard]] Matrix padded_copy(const MatrixView& table) {
  Matrix copy(table.rows, table.cols);
  parallel_for(table.rows, kBlock, [&](Offset r) {
    std::ranges::copy(table.row_span(static_cast<Index>(r)), copy.row(static_cast<Index>(r)));
  });
  return copy;
}

void check_taken(const MatrixView& matrix, const Metric& metric, const char* what) {
  const auto place = refused_place(metric, matrix);
  if (place) refuse_place(metric, *place, fmt::format("{}: row {}", what, place->row));
}

/// The table, checked.
[[nodiscard]] const MatrixView& checked(const MatrixView& table, std::span<const float> bias,
                                        const Metric& metric) {
  require(table.rows >= 0 && table.cols >= 0 && (table.rows <= 1 || table.stride >= table.cols),
          fmt::format("a table of {} x {} numbers with {} from row to row", table.rows, table.cols,
                      table.stride));
  check_numbers(table, "table");
  check_taken(table, metric, "table");
  check_bias(bias, table.rows);
  return table;
}

}  // namespace

struct FactorSearch::State {
  State(const MatrixView& table, std::span<const float> bias, const Metric& by,
        const Device& device)
      : given(table),
        metric(by),
        copy(is_padded(checked(table, bias, by)) ? Matrix() : padded_copy(table)),
        search(copy.rows() == table.rows && copy.cols() == table.cols ? copy.view() : table, bias,
               by, device) {}

  /// Queries that are rows of the table, one after the other, as the search has them.
  [[nodiscard]] std::optional<MatrixView> own_rows(const MatrixView& queries) const {
    if (queries.rows == 0 || queries.cols != given.cols || queries.stride != given.stride ||
        given.stride == 0) {
      return std::nullopt;
    }
    const auto at = reinterpret_cast<std::uintptr_t>(queries.data);
    const auto begin = reinterpret_cast<std::uintptr_t>(given.data);
    const auto row_bytes = static_cast<std::uintptr_t>(given.stride) * sizeof(float);
    if (at < begin || (at - begin) % row_bytes != 0) return std::nullopt;
    const std::uintptr_t first = (at - begin) / row_bytes;
    if (first + static_cast<std::uintptr_t>(queries.rows) >
        static_cast<std::uintptr_t>(given.rows)) {
      return std::nullopt;
    }
    return search.table().slice(static_cast<Index>(first), queries.rows);
  }

  MatrixView given;
  const Metric& metric;
  Matrix copy;  ///< of a table that is not padded
  TableSearch search;
};

FactorSearch::FactorSearch(const MatrixView& table, std::span<const float> bias,
                           SimilarityMetric metric, const Device& device)
    : state_(std::make_unique<const State>(table, bias, metric_of(metric), device)) {}

FactorSearch::~FactorSearch() = default;
FactorSearch::FactorSearch(FactorSearch&&) noexcept = default;
FactorSearch& FactorSearch::operator=(FactorSearch&&) noexcept = default;

Index FactorSearch::rows() const { return state_->search.table().rows; }
Index FactorSearch::factors() const { return state_->search.table().cols; }

TopKResult FactorSearch::top_k(const MatrixView& queries, const FactorSearchOptions& options,
                               const RunControl& control) const {
  const TableSearch& search = state_->search;
  require(options.n >= 1, fmt::format("n must be 1 or more, not {}", options.n));
  require(queries.rows == 0 || queries.cols == factors(),
          fmt::format("queries have {} factors, the table has {}", queries.cols, factors()));
  const std::optional<MatrixView> own = state_->own_rows(queries);
  if (!own) {
    if (state_->metric.transform != nullptr)
      check_numbers(queries, "queries");  // as they are given
    check_taken(queries, state_->metric, "queries");
  }
  if (options.excluded != nullptr) check_excluded(*options.excluded, queries.rows, rows());
  const std::vector<std::uint8_t> allowed =
      allowed_rows(options.allow, options.deny, rows(), "row");
  const CsrView excluded = options.excluded != nullptr ? *options.excluded : CsrView();
  const auto answer = [&](const MatrixView& asked) {
    return search.top_k(asked, options.n, {excluded, allowed}, control);
  };
  if (own) return answer(*own);
  const bool as_they_are = state_->metric.transform == nullptr && is_padded(queries);
  return answer(as_they_are ? queries : search.transformed(queries).view());
}

}  // namespace likewise
