// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/rows/als_rows.cuh"

namespace likewise::cuda {

template void launch_rows<Tf32Format, 1, true>(const RowProblem&, const RowTask*, int,
                                               cudaStream_t);
template void launch_rows<Tf32Format, 2, true>(const RowProblem&, const RowTask*, int,
                                               cudaStream_t);
template void launch_rows<Tf32Format, 4, true>(const RowProblem&, const RowTask*, int,
                                               cudaStream_t);
template void launch_rows<Tf32Format, 6, true>(const RowProblem&, const RowTask*, int,
                                               cudaStream_t);
template void launch_rows<Tf32Format, 8, true>(const RowProblem&, const RowTask*, int,
                                               cudaStream_t);
template void launch_rows<Tf32Format, 12, true>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);
template void launch_rows<Tf32Format, 16, true>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);

}  // namespace likewise::cuda
