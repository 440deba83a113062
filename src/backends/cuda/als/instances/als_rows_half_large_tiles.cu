// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/rows/als_rows.cuh"

namespace likewise::cuda {

template void launch_rows<LargeTilesHalfFormat, 5, false>(const RowProblem&, const RowTask*, int,
                                                          cudaStream_t);
template void launch_rows<LargeTilesHalfFormat, 6, false>(const RowProblem&, const RowTask*, int,
                                                          cudaStream_t);
template void launch_rows<LargeTilesHalfFormat, 9, false>(const RowProblem&, const RowTask*, int,
                                                          cudaStream_t);
template void launch_rows<LargeTilesHalfFormat, 10, false>(const RowProblem&, const RowTask*, int,
                                                           cudaStream_t);
template void launch_rows<LargeTilesHalfFormat, 11, false>(const RowProblem&, const RowTask*, int,
                                                           cudaStream_t);
template void launch_rows<LargeTilesHalfFormat, 12, false>(const RowProblem&, const RowTask*, int,
                                                           cudaStream_t);

}  // namespace likewise::cuda
