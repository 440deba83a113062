// SPDX-License-Identifier: Apache-2.0
/// ALS on several GPUs, one rank each (math.md, "Training over ranks"). Each
/// GPU holds a part of the rows of both sides; before a half-step all of them get the whole fixed
/// side, as the row kernels read it.
#pragma once

#include "backends/cuda/host/plugin.h"
#include "backends/distributed/als/als_ranks.h"

namespace likewise::cuda {

/// `use` as in CudaAls, with more than one device; both sides have rows. A GPU that is named
/// several times, and no other, is shared by as many ranks: for tests.
[[nodiscard]] MemoryPlan plan_ranked_als(const GpuUse& use, const AlsShape& shape,
                                         const AlsParams& params);
[[nodiscard]] std::unique_ptr<AlsSolver> make_ranked_als_solver(const GpuUse& use,
                                                                const CsrView& by_user,
                                                                const AlsParams& params,
                                                                Factors start,
                                                                int completed_iterations);

/// As make_cuda_als_rank(): this process is one of the ranks.
[[nodiscard]] std::unique_ptr<AlsRank> make_process_als_rank(const GpuUse& use, Communicator& ranks,
                                                             const AlsRankJob& job,
                                                             AlsRankPart part);

/// Of the rank that has received the most. Null where one GPU trains alone.
[[nodiscard]] const RankTraffic* als_traffic(const AlsSolver& solver);

}  // namespace likewise::cuda
