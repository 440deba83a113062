// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/als/als_fixed_side.h"

#include <algorithm>

#include "algorithms/als/weights.h"
#include "core/parallel.h"

namespace likewise {
namespace {

constexpr Index kBlock = 256;

/// out = the features of `count` rows: the factors, and a 1 for the other side's bias.
void copy_features(const Matrix& from, Index first, Index count, bool biased, float* out,
                   Index stride) {
  for (Index r = 0; r < count; ++r) {
    float* to = out + static_cast<Offset>(r) * stride;
    std::copy_n(from.row(first + r), from.cols(), to);
    if (biased) to[from.cols()] = 1.0F;
  }
}

/// The share of all ratings that each row has.
[[nodiscard]] std::vector<float> rating_shares(const CsrView& matrix, Offset interactions) {
  std::vector<float> shares(static_cast<std::size_t>(matrix.rows));
  const double total = static_cast<double>(std::max<Offset>(1, interactions));
  for (Index r = 0; r < matrix.rows; ++r) {
    shares[static_cast<std::size_t>(r)] =
        static_cast<float>(static_cast<double>(matrix.row_size(r)) / total);
  }
  return shares;
}

[[nodiscard]] double side_regularization(const CsrView& matrix, const Matrix& y,
                                         std::span<const float> bias, const AlsParams& params) {
  const Offset blocks = (matrix.rows + kBlock - 1) / kBlock;
  std::vector<double> sums(static_cast<std::size_t>(blocks), 0.0);
  parallel_blocks(matrix.rows, kBlock, [&](Offset begin, Offset end, Offset b) {
    for (Offset r = begin; r < end; ++r) {
      const auto row = static_cast<Index>(r);
      double square = 0.0;
      for (const float x : y.row_span(row)) square += static_cast<double>(x) * x;
      if (!bias.empty()) square += static_cast<double>(bias[r]) * bias[r];
      sums[static_cast<std::size_t>(b)] +=
          square *
          row_regularization(params, counted_entries(params, matrix.row_values(row)), matrix.cols);
    }
  });
  double total = 0.0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace

Eigenbasis fixed_basis(std::vector<double> gram, const AlsParams& params) {
  // Implicit: w0 Y^T Y = Q S Q^T.  Explicit: the mean of y y^T over the ratings = Q S Q^T.
  if (params.feedback == Feedback::kImplicit) {
    for (double& g : gram) g *= missing_weight(params);
  }
  Eigenbasis basis = eigenbasis(std::move(gram), als_width(params));
  for (double& value : basis.values) value = std::max(value, 0.0);
  return basis;
}

AlsFixedSums AlsFixedSide::take(const AlsFixedRows& rows, const AlsParams& params) {
  const Matrix& y = rows.factors;
  const Index width = als_width(params);
  const bool biased = width > params.factors;
  if (table_.rows() != y.rows() || table_.cols() != width) table_ = Matrix(y.rows(), width);
  parallel_blocks(y.rows(), kBlock, [&](Offset begin, Offset end, Offset) {
    copy_features(y, static_cast<Index>(begin), static_cast<Index>(end - begin), biased,
                  table_.row(static_cast<Index>(begin)), table_.stride());
  });
  const bool implicit = params.feedback == Feedback::kImplicit;
  return {weighted_gram(table_.view(), implicit ? std::vector<float>()
                                                : rating_shares(rows.matrix, rows.interactions)),
          side_regularization(rows.matrix, y, rows.bias, params)};
}

void AlsFixedSide::rotate(Eigenbasis basis) {
  basis_ = std::move(basis);
  parallel_blocks(table_.rows(), kBlock, [&](Offset begin, Offset end, Offset) {
    const auto count = static_cast<Index>(end - begin);
    Matrix rotated(count, table_.cols());
    float* rows = table_.row(static_cast<Index>(begin));
    multiply(count, rows, table_.stride(), basis_.vectors.view(), rotated.data(), rotated.stride());
    std::copy_n(rotated.data(), static_cast<Offset>(count) * rotated.stride(), rows);
  });
}

}  // namespace likewise
