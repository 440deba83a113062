// SPDX-License-Identifier: Apache-2.0
/// Small jobs on the factor tables of the GPU.
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

#include "likewise/als.h"
#include "likewise/types.h"

namespace likewise::cuda {

/// table[r][column] = value for all rows.
void fill_column(float* table, Index rows, int padded, int column, float value,
                 cudaStream_t stream);

/// table[r][column] = values[r].
void put_column(float* table, Index rows, int padded, int column, const float* values,
                cudaStream_t stream);

/// bias[r] = table[r][column], table[r][column] = 1.
void take_bias(float* table, Index rows, int padded, int column, float* bias, cudaStream_t stream);

/// Rows without interactions, by the matrix's offsets, become 0 in their first `width` columns.
void clear_empty_rows(float* table, Index rows, int padded, int width, const Offset* offsets,
                      cudaStream_t stream);

/// out = scale * table in the format that `precision` (not auto) stores.
void store_table(Precision precision, const float* table, Offset numbers, float scale, void* out,
                 cudaStream_t stream);

/// Bytes of a stored number.
[[nodiscard]] int stored_bytes(Precision precision);

/// out (padded x padded) = weight * gram + lambda I in its first `width` rows, 0 beyond.
void regularized_gram(const double* gram, int width, int padded, double weight, double lambda,
                      float* out, cudaStream_t stream);

/// out[r] = regularization_r (|first `width` columns of row r|^2 + bias_r^2); bias may be null.
void regularize_rows(const float* table, Index rows, int padded, int width, const float* bias,
                     const float* regularization, double* out, cudaStream_t stream);

/// starts = the table's rows, the first `factors` columns moved on by `ratio` of their changes.
void move_starts(const float* table, Index rows, int padded, int factors,
                 const std::uint16_t* changes, float ratio, float* starts, cudaStream_t stream);

/// The table becomes the solutions; its changes take the place of the last ones. `squares` and
/// `last_squares` get the sums of squares of both, row by row.
void keep_changes(const float* solutions, Index rows, int padded, int factors, float* table,
                  std::uint16_t* changes, double* squares, double* last_squares,
                  cudaStream_t stream);

}  // namespace likewise::cuda
