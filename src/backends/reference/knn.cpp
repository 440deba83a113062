// SPDX-License-Identifier: Apache-2.0
#include "likewise/knn.h"

#include <algorithm>
#include <vector>

#include "algorithms/knn/similarity.h"
#include "backends/reference/jobs.h"
#include "retrieval/knn_lists.h"
#include "retrieval/nearest_rows.h"

namespace likewise {
namespace {

class ReferenceKnnSearch final : public KnnSearch {
 public:
  explicit ReferenceKnnSearch(const SimilarityProblem& problem)
      : formula_(problem.formula()), rows_(problem.rows()) {}

  /// A part has every so manieth row.
  [[nodiscard]] KnnLists find_part(const SearchPart& part, Index k,
                                   const RunControl& control) const override {
    std::vector<std::vector<Candidate>> lists(static_cast<std::size_t>(rows_.weights.rows));
    for (Index x = part.number; x < rows_.weights.rows; x += part.of) {
      control.check();
      std::vector<Candidate> all;
      for (Index y = 0; y < rows_.weights.rows; ++y) {
        const float s = similarity(rows_, x, y);
        if (y != x && s != 0.0F) all.push_back({s, y});
      }
      keep_nearest(rows_.weights.row_columns(x), rows_.weights, static_cast<std::size_t>(k), all);
      lists[static_cast<std::size_t>(x)] = std::move(all);
      control.report("neighbours", x + 1, rows_.weights.rows, "rows");
    }
    return pack_knn_lists(rows_.weights.rows, [&](Index row) {
      return std::span<const Candidate>(lists[static_cast<std::size_t>(row)]);
    });
  }

  void similarities(const WeightedRows& queries, float* out) const override {
    for (Index x = 0; x < queries.weights.rows; ++x) {
      for (Index y = 0; y < rows_.weights.rows; ++y) *out++ = similarity(queries, x, y);
    }
  }

 private:
  [[nodiscard]] float similarity(const WeightedRows& queries, Index x, Index y) const {
    return formula_.similarity(queries.stats[static_cast<std::size_t>(x)],
                               rows_.stats[static_cast<std::size_t>(y)],
                               sums(queries.weights, x, y));
  }

  [[nodiscard]] PairSums sums(const CsrView& queries, Index x, Index y) const {
    const auto columns = rows_.weights.row_columns(y);
    const auto values = rows_.weights.row_values(y);
    PairSums sum;
    for (Offset e = queries.offsets[x]; e < queries.offsets[x + 1]; ++e) {
      const auto found = std::ranges::lower_bound(columns, queries.columns[e]);
      if (found == columns.end() || *found != queries.columns[e]) continue;
      const double a = queries.values[e];
      const double b = values[static_cast<std::size_t>(found - columns.begin())];
      sum.n += 1.0;
      sum.x += a;
      sum.y += b;
      sum.xx += a * a;
      sum.yy += b * b;
      sum.xy += a * b;
    }
    return sum;
  }

  const PairFormula& formula_;
  WeightedRows rows_;
};

}  // namespace

std::unique_ptr<KnnSearch> make_reference_knn_search(const SimilarityProblem& problem) {
  return std::make_unique<ReferenceKnnSearch>(problem);
}

}  // namespace likewise
