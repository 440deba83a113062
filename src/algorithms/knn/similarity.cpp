// SPDX-License-Identifier: Apache-2.0
#include "algorithms/knn/similarity.h"

#include <limits>

#include "core/system/parallel.h"

namespace likewise {
namespace {

[[nodiscard]] PairForm form_of(const KnnParams& params) {
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
    case Similarity::kRp3:
      return PairForm::kRp3;
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

/// Exponent of a row's count in the formula.
[[nodiscard]] double damping_of(const KnnParams& params) {
  if (params.similarity == Similarity::kConditional) return params.popularity_damping;
  if (params.similarity != Similarity::kRp3) return 0.0;
  return params.item_exponent - params.user_exponent;  // the weights of y bring n_y^-alpha
}

[[nodiscard]] PairFormula make_formula(const KnnParams& params, Index columns) {
  const bool about_baselines = params.similarity == Similarity::kPearsonBaseline;
  PairFormula formula;
  formula.form = form_of(params);
  formula.min_support = params.min_support;
  formula.shrinkage = params.usual_shrinkage();
  formula.lost_degrees = about_baselines ? 1.0 : 0.0;
  formula.amplification = params.amplification;
  formula.damping = damping_of(params);
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

/// The rounding of a row's weights: each is off by at most its error.
struct RowErrors {
  double squares = 0.0;
  double largest = 0.0;

  void add(double error) {
    squares += error * error;
    largest = std::max(largest, error);
  }
};

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
  std::vector<double> size;
  double sizes = 0.0;
};
[[nodiscard]] ColumnSums column_sums(const CsrView& rows) {
  const auto columns = static_cast<std::size_t>(rows.cols);
  ColumnSums result{std::vector<double>(columns), std::vector<double>(columns),
                    std::vector<double>(columns)};
  result.sizes = length_of(rows.all_values());
  for (Offset e = 0; e < rows.nnz(); ++e) {
    const auto column = static_cast<std::size_t>(rows.columns[e]);
    result.sum[column] += double{rows.values[e]};
    result.count[column] += 1.0;
    result.size[column] += std::abs(double{rows.values[e]});
  }
  return result;
}

/// Similarities that compare the values as they are.
[[nodiscard]] bool takes_values(const KnnParams& params) {
  return params.similarity == Similarity::kCosine || params.similarity == Similarity::kPearson ||
         params.similarity == Similarity::kMsd || params.similarity == Similarity::kDot;
}

/// Similarities of weights from which something is taken, so that products have both signs.
[[nodiscard]] bool centres(const KnnParams& params) {
  return params.similarity == Similarity::kAdjustedCosine ||
         params.similarity == Similarity::kPearson ||
         params.similarity == Similarity::kPearsonFull ||
         params.similarity == Similarity::kPearsonBaseline;
}

/// Half of what float32 and double tell apart at 1.
constexpr double kFloatError = 0x1p-24;
constexpr double kDoubleError = 0x1p-53;
/// Of the smallest numbers, which have fewer digits.
constexpr double kSmallestError = 0x1p-150;

/// Whether float32 holds what was written: whole numbers, and halves, quarters and the like. Of
/// 0.1 it holds something else, and nobody knows which values were like that.
[[nodiscard]] bool is_exact(float value) {
  const double size = std::abs(double{value});
  return size == std::rint(size) ? size <= 0x1p24
                                 : size < 0x1p12 && size * 256.0 == std::rint(size * 256.0);
}
/// How large a share of values float32 may have taken off.
[[nodiscard]] double error_of_values(std::span<const float> values) {
  return std::ranges::all_of(values, is_exact) ? 0.0 : kFloatError;
}
[[nodiscard]] bool some_negative(const CsrView& rows) {
  return std::any_of(rows.values, rows.values + rows.nnz(), [](float r) { return r < 0.0F; });
}

/// Of a mean of `count` values whose sizes add up to `sizes`, each off by so large a share of it.
[[nodiscard]] double error_of_mean(double sizes, double count, double value_error) {
  return count > 0.0 ? (value_error + kDoubleError * (count + 2.0)) * sizes / count : 0.0;
}

/// f(|r|) with the sign of r: a dislike weighs as much as a like of the same size.
template <class Function>
double signed_weight(double r, const Function& f) {
  return std::copysign(f(std::abs(r)), r);
}

}  // namespace

SimilarityProblem::SimilarityProblem(const CsrView& by_user, const KnnParams& params,
                                     const Biases& biases)
    : params_(params),
      biases_(biases),
      present_(by_user),
      formula_(make_formula(params, present_.count(other(params.side)))) {
  if (params.side == Side::kItems) {
    owned_ = transpose(by_user);
    weights_ = owned_.view();
  } else {
    weights_ = by_user;
  }
  gather_errors(weights_);
  gather_statistics(weights_);
  stats_.resize(static_cast<std::size_t>(weights_.rows));
  if (!takes_values(params)) {
    weigh_all();
  } else if (formula_.cancels) {
    parallel_for(weights_.rows, 64, [&](Offset row) {
      stats_[static_cast<std::size_t>(row)].noise =
          noise_of_values(value_error_, weights_.row_values(static_cast<Index>(row)));
    });
  }
  const auto square = [](double w) { return w * w; };
  for_sums_of_rows(weights_, square, [&](Index row, double squares) {
    RowStats& stats = stats_[static_cast<std::size_t>(row)];
    stats = stats_of(squares, static_cast<double>(weights_.row_size(row)), stats.noise);
  });
  // Less than the error of any estimate, for two rows together (bound_of_estimates).
  formula_.estimates = std::ranges::all_of(stats_, [](const RowStats& row) {
    return row.norm == 0.0 || row.noise <= 0x1p-20 * row.norm;
  });
}

/// In the transpose, or beside the caller's values.
void SimilarityProblem::weigh_all() {
  if (owned_.values.empty()) owned_.values = Array<float>::uninitialized(weights_.nnz());
  const Array<float>& bias = biases_.bias(params_.side);
  const auto weigh_row = [&](Index row, double sum) {
    const auto values = weights_.row_values(row);
    stats_[static_cast<std::size_t>(row)].noise =
        weigh_about(mean_of(sum, values.size()), bias.empty() ? 0.0 : double{bias[row]},
                    value_error_, weights_.row_columns(row), values,
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
  const bool walks = params_.similarity == Similarity::kRp3;
  const bool by_column =
      params_.similarity == Similarity::kAdjustedCosine && params_.centring != params_.side;
  if (!weighted && !walks && !by_column) return;
  const ColumnSums columns = column_sums(rows);
  column_weight_.resize(columns.sum.size());
  for (std::size_t c = 0; c < column_weight_.size(); ++c) {
    if (by_column) {
      column_weight_[c] = columns.count[c] > 0.0 ? columns.sum[c] / columns.count[c] : 0.0;
    } else if (walks) {
      // n_c^(-alpha/2), in both rows of a pair
      column_weight_[c] =
          columns.count[c] > 0.0 ? std::pow(columns.count[c], -0.5 * params_.user_exponent) : 0.0;
    } else {
      // idf_c = log(rows) - log(1 + rows with c), and no rounding of it where it is 0
      const double all = std::max(1.0, static_cast<double>(present_.count(params_.side)));
      column_weight_[c] =
          all == 1.0 + columns.count[c] ? 0.0 : std::log(all) - std::log1p(columns.count[c]);
    }
  }
  if (by_column) {
    column_error_.resize(column_weight_.size());
    for (std::size_t c = 0; c < column_error_.size(); ++c) {
      column_error_[c] = error_of_mean(columns.size[c], columns.count[c], value_error_);
    }
  }
  mean_length_ = rows.nnz() > 0 ? columns.sizes / present_.count(params_.side) : 0.0;
}

void SimilarityProblem::gather_errors(const CsrView& rows) {
  formula_.cancels = centres(params_) || (formula_.multiplies() && some_negative(rows));
  if (!formula_.cancels) return;
  value_error_ = error_of_values(rows.all_values());
  if (params_.similarity != Similarity::kPearsonBaseline) return;
  for (const float bias : biases_.bias(other(params_.side))) {
    column_error_.push_back(kFloatError * std::abs(double{bias}));
  }
}

bool SimilarityProblem::centres_rows() const {
  return params_.similarity == Similarity::kPearsonFull ||
         (params_.similarity == Similarity::kAdjustedCosine && params_.centring == params_.side);
}

RowStats SimilarityProblem::weigh(double bias, std::span<const Index> columns,
                                  std::span<const float> values, std::span<float> weights) const {
  const double noise =
      weigh_about(centres_rows() ? mean_of(values) : 0.0, bias,
                  std::max(value_error_, error_of_values(values)), columns, values, weights);
  double squares = 0.0;
  for (const float w : weights) squares += double{w} * double{w};
  return stats_of(squares, static_cast<double>(weights.size()), noise);
}

double SimilarityProblem::noise_of_values(double value_error, std::span<const float> values) const {
  RowErrors errors;
  for (const float r : values) errors.add(value_error * std::abs(double{r}) + kSmallestError);
  return noise_of(errors.squares, errors.largest);
}

/// What the weights of a row take off for the row is off by at most this.
double SimilarityProblem::row_error(double bias, double value_error,
                                    std::span<const float> values) const {
  if (centres_rows()) {
    return error_of_mean(length_of(values), static_cast<double>(values.size()), value_error);
  }
  if (params_.similarity != Similarity::kPearsonBaseline) return 0.0;
  return kFloatError * (std::abs(double{biases_.mean}) + std::abs(bias));
}

double SimilarityProblem::weigh_about(double mean, double bias, double value_error,
                                      std::span<const Index> columns, std::span<const float> values,
                                      std::span<float> weights) const {
  if (takes_values(params_)) {
    std::ranges::copy(values, weights.begin());
    return formula_.cancels ? noise_of_values(value_error, values) : 0.0;
  }
  const auto column_weight = [&](std::size_t e) {
    return column_weight_[static_cast<std::size_t>(columns[e])];
  };
  const double of_row = formula_.cancels ? row_error(bias, value_error, values) : 0.0;
  const auto error_of = [&](std::size_t e, double r, double w) {
    // A share of the value is as large a share of a weight from which nothing is taken.
    const double value = centres(params_) ? std::abs(r) : std::abs(w);
    const double of_column =
        column_error_.empty() ? 0.0 : column_error_[static_cast<std::size_t>(columns[e])];
    return kFloatError * std::abs(w) + value_error * value + kSmallestError + of_row + of_column;
  };
  const auto fill = [&](const auto& weight) {
    RowErrors errors;
    for (std::size_t e = 0; e < values.size(); ++e) {
      const double r = values[e];  // weights may take its place
      weights[e] = static_cast<float>(weight(e, r));
      if (formula_.cancels) errors.add(error_of(e, r, weights[e]));
    }
    return noise_of(errors.squares, errors.largest);
  };
  switch (params_.similarity) {
    case Similarity::kCosine:
    case Similarity::kPearson:
    case Similarity::kMsd:
    case Similarity::kDot:
      break;  // the values
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
      const Array<float>& column_bias = biases_.bias(other(params_.side));
      const double own = double{biases_.mean} + bias;
      return fill(
          [&](std::size_t e, double r) { return r - own - double{column_bias[columns[e]]}; });
    }
    case Similarity::kTfidf:
      return fill([&](std::size_t e, double r) {
        return signed_weight(r, [](double size) { return std::sqrt(size); }) * column_weight(e);
      });
    case Similarity::kRp3: {
      const double of_steps = std::pow(static_cast<double>(values.size()), -params_.user_exponent);
      return fill([&](std::size_t e, double) { return of_steps * column_weight(e); });
    }
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
  return 0.0;
}

double SimilarityProblem::noise_of(double squares, double largest) const {
  return formula_.of_common() ? largest : std::sqrt(squares);
}

RowStats SimilarityProblem::stats_of(double squares, double count, double noise) const {
  RowStats stats{std::sqrt(squares), count, 0.0, 1.0};
  if (formula_.damping != 0.0) stats.damped_count = std::pow(count, formula_.damping);
  if (!formula_.cancels) return stats;
  stats.noise = noise + kDoubleError * count * stats.norm;  // and of the sums
  if (!formula_.of_common() && stats.norm <= stats.noise) stats.norm = 0.0;
  return stats;
}

}  // namespace likewise
