// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/rows/als_rows.cuh"

namespace likewise::cuda {

template void launch_rows<FloatFormat, 1, true>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);
template void launch_rows<FloatFormat, 2, true>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);
template void launch_rows<FloatFormat, 4, true>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);
template void launch_rows<FloatFormat, 6, true>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);
template void launch_rows<FloatFormat, 8, true>(const RowProblem&, const RowTask*, int,
                                                cudaStream_t);
template void launch_rows<FloatFormat, 12, true>(const RowProblem&, const RowTask*, int,
                                                 cudaStream_t);
template void launch_rows<FloatFormat, 16, true>(const RowProblem&, const RowTask*, int,
                                                 cudaStream_t);

}  // namespace likewise::cuda
