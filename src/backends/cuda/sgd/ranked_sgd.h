// SPDX-License-Identifier: Apache-2.0
/// SGD on several GPUs of one machine, one rank each (math.md, "SGD over ranks").
#pragma once

#include "backends/cuda/host/plugin.h"
#include "backends/cuda/host/sgd_work.h"

namespace likewise::cuda {

/// How a rank's share fits on its GPU, the first of use.devices. A GPU that is named several times
/// is shared.
[[nodiscard]] GpuSgdPlan resolve_sgd(const GpuUse& use, const GpuSgdShare& share,
                                     const SgdParams& params);

/// `use` as in CudaSgd, with more than one device; the order is one that they can share, and there
/// are ratings. A GPU that is named several times, and no other, is shared by as many ranks: for
/// tests.
[[nodiscard]] MemoryPlan plan_ranked_sgd(const GpuUse& use, const SgdShape& shape,
                                         const SgdParams& params);
[[nodiscard]] std::unique_ptr<SgdSolver> make_ranked_sgd_solver(const GpuUse& use,
                                                                const CsrView& by_user,
                                                                const SgdParams& params,
                                                                Factors start,
                                                                const SgdWhole& whole);

/// Of the rank that has received the most. Null where one GPU trains alone.
[[nodiscard]] const RankTraffic* sgd_traffic(const SgdSolver& solver);

}  // namespace likewise::cuda
