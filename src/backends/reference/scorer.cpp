// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "backends/reference/eight_sums.h"
#include "backends/reference/jobs.h"
#include "retrieval/top_k.h"

namespace likewise {
namespace {

class ReferenceScorer final : public Scorer {
 public:
  ReferenceScorer(const MatrixView& items, std::span<const float> item_bias, ScoreKind kind)
      : items_(items), item_bias_(item_bias), kind_(kind) {
    check_item_table(items, item_bias, kind);
  }

  [[nodiscard]] TopKResult top_k(const MatrixView& queries, Index k, const TopKFilter& filter,
                                 const RunControl& control) const override {
    check_top_k(items_, queries, k, filter);
    check_top_k_numbers(items_, queries, filter);
    TopKResult result = make_top_k_result(queries.rows, k, items_.rows);
    for (Index q = 0; q < queries.rows; ++q) {
      control.check();
      std::vector<Candidate> all = allowed_scores(queries.row(q), q, filter);
      std::sort(all.begin(), all.end(), before);
      all.resize(std::min(all.size(), static_cast<std::size_t>(result.k)));
      write_answer(all, q, result);
      control.report("score", q + 1, queries.rows, "queries");
    }
    return result;
  }

  void score_all(const MatrixView& queries, float* out) const override {
    check_query_width(items_, queries);
    for (Index q = 0; q < queries.rows; ++q) {
      for (Index i = 0; i < items_.rows; ++i) *out++ = score(queries.row(q), i);
    }
  }

 private:
  [[nodiscard]] float score(const float* query, Index item) const {
    return kind_ == ScoreKind::kDot ? biased_dot(query, item) : negated_distance(query, item);
  }

  /// -|q - y_i|^2, added up as the contract says.
  [[nodiscard]] float negated_distance(const float* query, Index item) const {
    return -static_cast<float>(in_eight_sums(items_.cols, [&](Index j) {
      const double difference = double{query[j]} - double{items_.row(item)[j]};
      return difference * difference;
    }));
  }

  /// q . y_i + bias_i
  [[nodiscard]] float biased_dot(const float* query, Index item) const {
    double sum = dot(query, items_.row(item), items_.cols);
    if (!item_bias_.empty()) sum += double{item_bias_[static_cast<std::size_t>(item)]};
    return static_cast<float>(sum);
  }

  [[nodiscard]] std::vector<Candidate> allowed_scores(const float* query, Index q,
                                                      const TopKFilter& filter) const {
    std::vector<Candidate> result;
    for (Index i = 0; i < items_.rows; ++i) {
      if (!filter.allowed.empty() && filter.allowed[static_cast<std::size_t>(i)] == 0) continue;
      if (filter.excluded.rows > 0) {
        const auto row = filter.excluded.row_columns(q);
        if (std::find(row.begin(), row.end(), i) != row.end()) continue;
      }
      result.push_back({score(query, i), i});
    }
    return result;
  }

  MatrixView items_;
  std::span<const float> item_bias_;
  ScoreKind kind_;
};

}  // namespace

std::unique_ptr<Scorer> make_reference_scorer(const MatrixView& items,
                                              std::span<const float> item_bias, ScoreKind score) {
  return std::make_unique<ReferenceScorer>(items, item_bias, score);
}

}  // namespace likewise
