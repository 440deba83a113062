// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/rows/als_rows.cuh"

namespace likewise::cuda {

template void launch_rows<HalfFormat, 1, true>(const RowProblem&, const RowTask*, int,
                                               cudaStream_t);
template void launch_rows<HalfFormat, 2, true>(const RowProblem&, const RowTask*, int,
                                               cudaStream_t);
template void launch_rows<HalfFormat, 4, true>(const RowProblem&, const RowTask*, int,
                                               cudaStream_t);
template void launch_rows<HalfFormat, 6, true>(const RowProblem&, const RowTask*, int,
                                               cudaStream_t);
template void launch_rows<HalfFormat, 8, true>(const RowProblem&, const RowTask*, int,
                                               cudaStream_t);
template void launch_rows<HalfFormat, 12, true>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);
template void launch_rows<HalfFormat, 16, true>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);

}  // namespace likewise::cuda
