// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/rows/als_rows.cuh"

namespace likewise::cuda {

template void launch_rows<HalfFormat, 1, false>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);
template void launch_rows<HalfFormat, 2, false>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);
template void launch_rows<HalfFormat, 3, false>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);
template void launch_rows<HalfFormat, 4, false>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);
template void launch_rows<HalfFormat, 7, false>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);
template void launch_rows<HalfFormat, 8, false>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);
template void launch_rows<HalfFormat, 16, false>(const RowProblem&, const RowTask*, int,
                                                 cudaStream_t);

}  // namespace likewise::cuda
