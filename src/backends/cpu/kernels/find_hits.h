// SPDX-License-Identifier: Apache-2.0
/// The inner loop of top-k: which items of a panel can matter to which queries. Product and
/// selection are one: a score lives in a register and leaves it as one bit.
///
/// A panel is kPanelItems items stored so that vectors run over items; no horizontal sums.
#pragma once

#include <cstdint>

#include "likewise/types.h"

namespace likewise::kernels {

inline constexpr Index kPanelItems = 64;

/// Bit i of hits[q] tells whether  bias[i] + queries[q] . y_i >= thresholds[q],  in float32 with at
/// most two roundings a step. panel[j * kPanelItems + i] is factor j of item i; `panel` and `bias`
/// are 64-byte aligned.
void find_hits(const float* panel, const float* bias, Index factors, const float* const* queries,
               const float* thresholds, Index count, std::uint64_t* hits);

/// Four factors of one query as bytes, to be multiplied with four of each item at once.
using ByteGroup = std::int32_t;
inline constexpr Index kGroupFactors = 4;

/// A query for find_hits_bytes.
struct ByteQuery {
  const ByteGroup* factors;  ///< signed bytes, padded with zeros to whole groups
  float bias_scale;          ///< what one unit of bias is in units of the integer score
};

/// Whether this processor has 8-bit dot products that we know how to use (AVX-512 VNNI).
[[nodiscard]] bool has_byte_dot_products();

/// The same with integers: hit where  round(bias_scale bias[i]) + queries[q] . y_i >=
/// thresholds[q], exactly. panel[(g * kPanelItems + i) * 4 + j] is factor 4 g + j of item i,
/// unsigned. `bias` may be null. Only where has_byte_dot_products(); |bias_scale bias| must stay
/// below 2^30.
void find_hits_bytes(const std::uint8_t* panel, const float* bias, Index groups,
                     const ByteQuery* queries, const std::int32_t* thresholds, Index count,
                     std::uint64_t* hits);

/// What turns true scores into integer ones, of a panel and of each query. An estimate is off by
/// residual |y| + |q^| (residual of the panel) + bias_error at most.
struct PanelUnits {
  double inverse;     ///< 1 / scale
  double norm;        ///< the largest |y|
  double residual;    ///< the largest |y - y^|
  double bias_error;  ///< of the largest bias
};
struct QueryUnits {
  const double* inverse;   ///< 1 / scale
  const double* residual;  ///< |q - q^|
  const double* norm;      ///< |q^|
  const double* shift;     ///< what the unsigned items add to a sum
};

/// Thresholds for find_hits_bytes: at least 2 below the integer score of an item whose true score
/// is thresholds[q], which is room for the rounding of biases and of the threshold itself; ends are
/// saturated. Only where has_byte_dot_products().
void whole_thresholds(const PanelUnits& panel, const QueryUnits& queries, const float* thresholds,
                      Index count, std::int32_t* out);

/// Whether it also multiplies tiles of bytes (AMX), and the system lets us.
[[nodiscard]] bool has_byte_tiles();

/// find_hits_bytes() by tiles; it calls this where has_byte_tiles().
void find_hits_tiles(const std::uint8_t* panel, const float* bias, Index groups,
                     const ByteQuery* queries, const std::int32_t* thresholds, Index count,
                     std::uint64_t* hits);

}  // namespace likewise::kernels
