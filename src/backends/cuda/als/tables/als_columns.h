// SPDX-License-Identifier: Apache-2.0
/// The transposed matrix of several GPUs, each of which has a part of the rows and gets a part of
/// the columns.
#pragma once

#include <span>

#include "backends/cuda/als/als_link.h"
#include "backends/cuda/als/tables/als_matrix.h"

namespace likewise::cuda {

/// This rank's items x all users, sorted, from its users x all items: a collective call.
/// `user_offsets` are the matrix's, on the host; `at_once` as in transpose_rows().
[[nodiscard]] DeviceRows exchange_columns(const DeviceRows& users,
                                          std::span<const Offset> user_offsets, Offset at_once,
                                          AlsLink& link, cudaStream_t stream);

}  // namespace likewise::cuda
