// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/rows/als_rows.cuh"

namespace likewise::cuda {

template void launch_rows<PairedHalfFormat, 7, false>(const RowProblem&, const RowTask*, int,
                                                      cudaStream_t);
template void launch_rows<PairedHalfFormat, 8, false>(const RowProblem&, const RowTask*, int,
                                                      cudaStream_t);

}  // namespace likewise::cuda
