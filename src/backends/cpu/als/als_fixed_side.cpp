// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/als/als_fixed_side.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "algorithms/als/weights.h"
#include "backends/jobs/als_solver.h"
#include "core/system/parallel.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr Index kRowsPerBlock = 256;

/// out = the features of `count` rows: the factors, and a 1 for the other side's bias.
void copy_features(const Matrix& from, Index first, Index count, float* out, Index stride) {
  for (Index r = 0; r < count; ++r) {
    float* to = out + static_cast<Offset>(r) * stride;
    std::copy_n(from.row(first + r), from.cols(), to);
    to[from.cols()] = 1.0F;
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

struct SideNorms {
  double regularization = 0.0;  ///< sum_r lambda_r |y_r|^2
  double longest = 0.0;         ///< largest square of a row's factors
};

[[nodiscard]] SideNorms side_norms(const CsrView& matrix, const Matrix& y,
                                   std::span<const float> bias, const AlsParams& params) {
  const Offset blocks = (matrix.rows + kRowsPerBlock - 1) / kRowsPerBlock;
  std::vector<SideNorms> parts(static_cast<std::size_t>(blocks));
  parallel_blocks(matrix.rows, kRowsPerBlock, [&](Offset begin, Offset end, Offset b) {
    for (Offset r = begin; r < end; ++r) {
      const auto row = static_cast<Index>(r);
      double square = 0.0;
      for (const float x : y.row_span(row)) square += static_cast<double>(x) * x;
      SideNorms& part = parts[static_cast<std::size_t>(b)];
      part.longest = std::max(part.longest, square);
      if (!bias.empty()) square += static_cast<double>(bias[r]) * bias[r];
      part.regularization +=
          square *
          row_regularization(params, counted_entries(params, matrix.row_values(row)), matrix.cols);
    }
  });
  SideNorms all;
  for (const SideNorms& part : parts) {
    all.regularization += part.regularization;
    all.longest = std::max(all.longest, part.longest);
  }
  return all;
}

/// The factors' own.
[[nodiscard]] AlsBasis own_basis(std::vector<double> gram, const AlsParams& params) {
  const Index d = als_width(params);
  AlsBasis basis{{std::vector<double>(static_cast<std::size_t>(d)), Matrix(d, d), Matrix(d, d)},
                 {}};
  for (Index j = 0; j < d; ++j) basis.vectors.row(j)[j] = basis.transposed.row(j)[j] = 1.0F;
  if (params.feedback == Feedback::kImplicit) basis.gram = std::move(gram);
  return basis;
}

}  // namespace

AlsBasis fixed_basis(std::vector<double> gram, const AlsParams& params) {
  // Implicit: w0 Y^T Y = Q S Q^T.  Explicit: the mean of y y^T over the ratings = Q S Q^T.
  if (params.feedback == Feedback::kImplicit) {
    for (double& g : gram) g *= missing_weight(params);
  }
  if (params.nonnegative) return own_basis(std::move(gram), params);
  AlsBasis basis{eigenbasis(std::move(gram), als_width(params)), {}};
  for (double& value : basis.values) value = std::max(value, 0.0);
  return basis;
}

AlsParams resolve_cpu_precision(AlsParams params, const AlsShape& shape) {
  constexpr Offset kFew = Offset{1} << 18;
  if (params.precision == Precision::kAuto) {
    const bool sixteen = params.feedback == Feedback::kImplicit &&
                         cell_form(params) != CellForm::kGiven && !solves_exactly(params, shape) &&
                         shape.interactions > kFew && kernels::converts_float16();
    params.precision = sixteen ? Precision::kFp16 : Precision::kFp32;
  }
  if (params.precision != Precision::kFp32 && params.precision != Precision::kFp16) {
    throw Error(ErrorKind::kInvalidArgument,
                "precision: the cpu backend trains in fp32 or fp16; use auto, fp32 or fp16");
  }
  if (params.precision == Precision::kFp16 && params.nonnegative) {
    throw Error(ErrorKind::kInvalidArgument,
                "precision: the cpu backend trains nonnegative factors in fp32; use auto or fp32");
  }
  // What a confidence below 1 takes away from a row's matrix, fp16 does not hold exactly enough.
  if (params.precision == Precision::kFp16 && cell_form(params) == CellForm::kGiven) {
    throw Error(ErrorKind::kInvalidArgument,
                "precision: the cpu backend trains on given confidences in fp32; use auto or fp32");
  }
  return params;
}

kernels::StoredRows stored_rows(const Matrix& rows) {
  return {rows.data(), nullptr, rows.cols(), rows.stride()};
}

AlsFixedSums AlsFixedSide::take(const AlsFixedRows& rows, const AlsParams& params) {
  const Matrix& y = rows.factors;
  const Index width = als_width(params);
  const bool biased = width > params.factors;
  features_ = y.view();
  if (biased) {
    if (with_ones_.rows() != y.rows() || with_ones_.cols() != width) {
      with_ones_ = Matrix(y.rows(), width);
    }
    parallel_blocks(y.rows(), kRowsPerBlock, [&](Offset begin, Offset end, Offset) {
      copy_features(y, static_cast<Index>(begin), static_cast<Index>(end - begin),
                    with_ones_.row(static_cast<Index>(begin)), with_ones_.stride());
    });
    features_ = with_ones_.view();
  }
  sixteen_bits_ = params.precision == Precision::kFp16;
  const bool implicit = params.feedback == Feedback::kImplicit;
  const SideNorms norms = side_norms(rows.matrix, y, rows.bias, params);
  longest_ = std::sqrt(norms.longest + (biased ? 1.0 : 0.0));
  return {weighted_gram(features_, implicit ? std::vector<float>()
                                            : rating_shares(rows.matrix, rows.interactions)),
          norms.regularization};
}

/// No number of a turned row is above the row's norm, which becomes 2^14 to 2^15 of float16's 2^16.
float AlsFixedSide::scale_of_rows() const {
  constexpr int kTop = 14;
  constexpr int kMost = 30;  // squares times lambda stay in float32
  if (!sixteen_bits_ || !(longest_ > 0.0) || !std::isfinite(longest_)) return 1.0F;
  const int exponent = kTop - std::ilogb(longest_);
  if (std::abs(exponent) > kMost + kTop) {
    throw Error(ErrorKind::kNumerical,
                fmt::format("precision fp16: factors of norm {:.3g} are beyond what 16 bits hold; "
                            "use precision fp32",
                            longest_));
  }
  return std::ldexp(1.0F, std::clamp(exponent, -kMost, kMost));
}

void AlsFixedSide::rotate(AlsBasis basis) {
  basis_ = std::move(basis);
  scale_ = scale_of_rows();
  const Index rows = features_.rows;
  const Index stride = features_.stride;
  const Offset numbers = Offset{rows} * stride;
  if (sixteen_bits_) {
    if (halves_.size() != numbers) halves_ = Array<std::uint16_t>::uninitialized(numbers);
  } else if (table_.rows() != rows || table_.cols() != features_.cols) {
    table_ = Matrix(rows, features_.cols);
  }
  parallel_blocks(rows, kRowsPerBlock, [&](Offset begin, Offset end, Offset) {
    const auto first = static_cast<Index>(begin);
    const auto count = static_cast<Index>(end - begin);
    if (!sixteen_bits_) {
      return multiply(count, features_.row(first), stride, basis_.vectors.view(), table_.row(first),
                      stride);
    }
    Matrix turned(count, features_.cols);
    multiply(count, features_.row(first), stride, basis_.vectors.view(), turned.data(), stride);
    kernels::store_float16(turned.data(), scale_, Offset{count} * stride,
                           halves_.data() + begin * stride);
  });
}

kernels::StoredRows AlsFixedSide::rows() const {
  if (!sixteen_bits_) return stored_rows(table_);
  return {nullptr, halves_.data(), features_.cols, features_.stride};
}

}  // namespace likewise
