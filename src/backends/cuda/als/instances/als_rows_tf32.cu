// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/rows/als_rows.cuh"

namespace likewise::cuda {

template void launch_rows<Tf32Format, 1, false>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);
template void launch_rows<Tf32Format, 2, false>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);
template void launch_rows<Tf32Format, 4, false>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);
template void launch_rows<Tf32Format, 8, false>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);
template void launch_rows<Tf32Format, 12, false>(const RowProblem&, const RowTask*, int,
                                                 cudaStream_t);
template void launch_rows<Tf32Format, 16, false>(const RowProblem&, const RowTask*, int,
                                                 cudaStream_t);

}  // namespace likewise::cuda
