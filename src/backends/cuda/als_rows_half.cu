// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als_rows.cuh"

namespace likewise::cuda {

template void launch_rows<HalfFormat, 1>(const RowProblem&, const RowTask*, int, cudaStream_t);
template void launch_rows<HalfFormat, 2>(const RowProblem&, const RowTask*, int, cudaStream_t);
template void launch_rows<HalfFormat, 3>(const RowProblem&, const RowTask*, int, cudaStream_t);
template void launch_rows<HalfFormat, 4>(const RowProblem&, const RowTask*, int, cudaStream_t);
template void launch_rows<HalfFormat, 5>(const RowProblem&, const RowTask*, int, cudaStream_t);
template void launch_rows<HalfFormat, 6>(const RowProblem&, const RowTask*, int, cudaStream_t);
template void launch_rows<HalfFormat, 7>(const RowProblem&, const RowTask*, int, cudaStream_t);
template void launch_rows<HalfFormat, 8>(const RowProblem&, const RowTask*, int, cudaStream_t);
template void launch_rows<HalfFormat, 12>(const RowProblem&, const RowTask*, int, cudaStream_t);
template void launch_rows<HalfFormat, 16>(const RowProblem&, const RowTask*, int, cudaStream_t);

}  // namespace likewise::cuda
