// SPDX-License-Identifier: Apache-2.0
#include "algorithms/neighbours/similarity.h"

#include <limits>

#include "core/parallel.h"

namespace likewise {
namespace {

[[nodiscard]] PairForm form_of(const NeighbourParams& params) {
  switch (params.similarity) {
    case Similarity::kCosine:
      return params.feedback == Feedback::kExplicit ? PairForm::kCommonCosine : PairForm::kCosine;
    case Similarity::kPearsonBaseline:
      return PairForm::kCommonCosine;
    case Similarity::kPearson:
      return PairForm::kPearson;
    case Similarity::kMsd:
      return PairForm::kMsd;
    case Similarity::kJaccard:
      return PairForm::kJaccard;
    case Similarity::kLogLikelihood:
      return PairForm::kLogLikelihood;
    case Similarity::kConditional:
      return PairForm::kConditional;
    case Similarity::kBm25:
    case Similarity::kDot:
      return PairForm::kDot;
    case Similarity::kAdjustedCosine:
    case Similarity::kPearsonFull:
    case Similarity::kTfidf:
      break;
  }
  return PairForm::kCosine;
}

[[nodiscard]] PairFormula make_formula(const NeighbourParams& params, Index columns) {
  const bool about_baselines = params.similarity == Similarity::kPearsonBaseline;
  PairFormula formula;
  formula.form = form_of(params);
  formula.min_support = params.min_support;
  formula.shrinkage = params.shrinkage.value_or(about_baselines ? 100.0 : 0.0);
  formula.lost_degrees = about_baselines ? 1.0 : 0.0;
  formula.amplification = params.amplification;
  formula.damping = params.popularity_damping;
  formula.keep_negative = params.keep_negative;
  formula.columns = columns;
  const bool counted = params.min_support > 1 || formula.shrinkage > 0.0;
  if (formula.form == PairForm::kPearson) {
    formula.sums = SumsNeeded::kAll;
  } else if (formula.form == PairForm::kCommonCosine || formula.form == PairForm::kMsd ||
             (counted && !formula.of_counts())) {
    formula.sums = SumsNeeded::kSquares;
  }
  if (formula.form == PairForm::kLogLikelihood) {
    formula.logarithms.assign(static_cast<std::size_t>(columns) + 1, 0.0);
    for (Index k = 1; k <= columns; ++k) {
      formula.logarithms[static_cast<std::size_t>(k)] = k * std::log(static_cast<double>(k));
    }
    formula.x_log_x = formula.logarithms.data();
  }
  formula.counted = formula.of_counts() || formula.sums != SumsNeeded::kProducts;
  formula.common_is_product = formula.of_counts() || formula.sums == SumsNeeded::kProducts;
  return formula;
}

[[nodiscard]] double mean_of(double sum, std::size_t count) {
  return count == 0 ? 0.0 : sum / static_cast<double>(count);
}
[[nodiscard]] double mean_of(std::span<const float> values) {
  double sum = 0.0;
  for (const float value : values) sum += double{value};
  return mean_of(sum, values.size());
}

/// Rows that are added up side by side: one alone waits for each of its additions.
constexpr Index kSideBySide = 4;

/// Calls take(row, sum) with the sum of term(value) over the values of each row, in their order.
template <class Term, class Take>
void for_sums_of_rows(const CsrView& rows, const Term& term, const Take& take) {
  const Offset entries_of_row = rows.nnz() / std::max<Index>(1, rows.rows) + 1;
  const Offset grain = std::clamp<Offset>((Offset{1} << 15) / entries_of_row / kSideBySide, 1, 64);
  parallel_for((rows.rows + kSideBySide - 1) / kSideBySide, grain, [&](Offset group) {
    const auto first = static_cast<Index>(group) * kSideBySide;
    std::span<const float> values[kSideBySide];
    std::size_t common = std::numeric_limits<std::size_t>::max();
    for (Index r = 0; r < kSideBySide; ++r) {
      if (first + r < rows.rows) values[r] = rows.row_values(first + r);
      common = std::min(common, values[r].size());
    }
    double sums[kSideBySide] = {};
    for (std::size_t e = 0; e < common; ++e) {
      for (Index r = 0; r < kSideBySide; ++r) sums[r] += term(double{values[r][e]});
    }
    for (Index r = 0; r < std::min(kSideBySide, rows.rows - first); ++r) {
      for (const float value : values[r].subspan(common)) sums[r] += term(double{value});
      take(first + r, sums[r]);
    }
  });
}

/// BM25's length of a row.
[[nodiscard]] double length_of(std::span<const float> values) {
  double sum = 0.0;
  for (const float value : values) sum += std::abs(double{value});
  return sum;
}

/// Sums, sums of sizes, and numbers of values per column.
struct ColumnSums {
  std::vector<double> sum;
  std::vector<double> count;
  double sizes = 0.0;
};
[[nodiscard]] ColumnSums column_sums(const CsrView& rows) {
  const auto columns = static_cast<std::size_t>(rows.cols);
  ColumnSums result{std::vector<double>(columns), std::vector<double>(columns)};
  result.sizes = length_of({rows.values, static_cast<std::size_t>(rows.nnz())});
  for (Offset e = 0; e < rows.nnz(); ++e) {
    const auto column = static_cast<std::size_t>(rows.columns[e]);
    result.sum[column] += double{rows.values[e]};
    result.count[column] += 1.0;
  }
  return result;
}

/// Similarities that compare the values as they are.
[[nodiscard]] bool takes_values(const NeighbourParams& params) {
  return params.similarity == Similarity::kCosine || params.similarity == Similarity::kPearson ||
         params.similarity == Similarity::kMsd || params.similarity == Similarity::kDot;
}

/// f(|r|) with the sign of r: a dislike weighs as much as a like of the same size.
template <class Function>
double signed_weight(double r, const Function& f) {
  return std::copysign(f(std::abs(r)), r);
}

}  // namespace

SimilarityProblem::SimilarityProblem(const CsrView& by_user, const NeighbourParams& params,
                                     const Baselines& baselines)
    : params_(params),
      baselines_(baselines),
      formula_(make_formula(params, params.side == Side::kUsers ? by_user.cols : by_user.rows)) {
  if (params.side == Side::kItems) {
    owned_ = transpose(by_user);
    weights_ = owned_.view();
  } else {
    weights_ = by_user;
  }
  gather_statistics(weights_);
  if (!takes_values(params)) weigh_all();
  stats_.resize(static_cast<std::size_t>(weights_.rows));
  const auto square = [](double w) { return w * w; };
  for_sums_of_rows(weights_, square, [&](Index row, double squares) {
    stats_[static_cast<std::size_t>(row)] = {std::sqrt(squares),
                                             static_cast<double>(weights_.row_size(row))};
  });
}

/// In the transpose, or beside the caller's values.
void SimilarityProblem::weigh_all() {
  if (owned_.values.empty()) owned_.values = Array<float>::uninitialized(weights_.nnz());
  const Array<float>& bias = baselines_.bias(params_.side);
  const auto weigh_row = [&](Index row, double sum) {
    const auto values = weights_.row_values(row);
    weigh_about(mean_of(sum, values.size()), bias.empty() ? 0.0 : double{bias[row]},
                weights_.row_columns(row), values,
                {owned_.values.data() + weights_.offsets[row], values.size()});
  };
  if (centres_rows()) {
    for_sums_of_rows(
        weights_, [](double r) { return r; }, weigh_row);
  } else {
    parallel_for(weights_.rows, 64, [&](Offset row) { weigh_row(static_cast<Index>(row), 0.0); });
  }
  weights_.values = owned_.values.data();
}

void SimilarityProblem::gather_statistics(const CsrView& rows) {
  const bool weighted =
      params_.similarity == Similarity::kTfidf || params_.similarity == Similarity::kBm25;
  const bool by_column =
      params_.similarity == Similarity::kAdjustedCosine && params_.centring != params_.side;
  if (!weighted && !by_column) return;
  const ColumnSums columns = column_sums(rows);
  column_weight_.resize(columns.sum.size());
  for (std::size_t c = 0; c < column_weight_.size(); ++c) {
    if (by_column) {
      column_weight_[c] = columns.count[c] > 0.0 ? columns.sum[c] / columns.count[c] : 0.0;
    } else {
      // idf_c = log(rows) - log(1 + rows with c)
      column_weight_[c] =
          std::log(std::max(1.0, static_cast<double>(rows.rows))) - std::log1p(columns.count[c]);
    }
  }
  mean_length_ = rows.rows > 0 ? columns.sizes / rows.rows : 0.0;
}

bool SimilarityProblem::centres_rows() const {
  return params_.similarity == Similarity::kPearsonFull ||
         (params_.similarity == Similarity::kAdjustedCosine && params_.centring == params_.side);
}

void SimilarityProblem::weigh(double bias, std::span<const Index> columns,
                              std::span<const float> values, std::span<float> weights) const {
  weigh_about(centres_rows() ? mean_of(values) : 0.0, bias, columns, values, weights);
}

void SimilarityProblem::weigh_about(double mean, double bias, std::span<const Index> columns,
                                    std::span<const float> values, std::span<float> weights) const {
  const auto column_weight = [&](std::size_t e) {
    return column_weight_[static_cast<std::size_t>(columns[e])];
  };
  const auto fill = [&](const auto& weight) {
    for (std::size_t e = 0; e < values.size(); ++e) {
      weights[e] = static_cast<float>(weight(e, double{values[e]}));
    }
  };
  switch (params_.similarity) {
    case Similarity::kCosine:
    case Similarity::kPearson:
    case Similarity::kMsd:
    case Similarity::kDot:
      return fill([](std::size_t, double r) { return r; });
    case Similarity::kJaccard:
    case Similarity::kLogLikelihood:
    case Similarity::kConditional:
      return fill([](std::size_t, double) { return 1.0; });
    case Similarity::kAdjustedCosine:
      if (params_.centring != params_.side) {
        return fill([&](std::size_t e, double r) { return r - column_weight(e); });
      }
      [[fallthrough]];
    case Similarity::kPearsonFull:
      return fill([&](std::size_t, double r) { return r - mean; });
    case Similarity::kPearsonBaseline: {
      const Array<float>& column_bias = baselines_.bias(other(params_.side));
      const double own = double{baselines_.mean} + bias;
      return fill(
          [&](std::size_t e, double r) { return r - own - double{column_bias[columns[e]]}; });
    }
    case Similarity::kTfidf:
      return fill([&](std::size_t e, double r) {
        return signed_weight(r, [](double size) { return std::sqrt(size); }) * column_weight(e);
      });
    case Similarity::kBm25: {
      const double k1 = params_.bm25_k1;
      const double length = mean_length_ > 0.0 ? length_of(values) / mean_length_ : 1.0;
      const double held = k1 * (1.0 - params_.bm25_b + params_.bm25_b * length);
      return fill([&](std::size_t e, double r) {
        return signed_weight(r, [&](double size) { return size * (k1 + 1.0) / (held + size); }) *
               column_weight(e);
      });
    }
  }
}

RowStats SimilarityProblem::stats_of(std::span<const float> weights) {
  double squares = 0.0;
  for (const float w : weights) squares += double{w} * double{w};
  return {std::sqrt(squares), static_cast<double>(weights.size())};
}

}  // namespace likewise
