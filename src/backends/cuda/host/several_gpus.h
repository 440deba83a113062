// SPDX-License-Identifier: Apache-2.0
/// When `auto` takes several GPUs for one job: where what they save is more than what it takes to
/// start them.
#pragma once

#include <string>

#include "backends/cuda/host/plugin.h"

namespace likewise {

/// Expected seconds of a search for the k nearest rows on one such GPU.
[[nodiscard]] double seconds_of_search(const SimilarityProblem& problem, Index k,
                                       const GpuInfo& gpu);

/// Work that takes so long on one GPU takes 1 / gpus of it on several, which are started one after
/// the other: whether seconds (1 - 1 / gpus) > (gpus - 1) seconds of a start.
[[nodiscard]] bool several_gpus_pay(double seconds, int gpus);

/// The same for people.
[[nodiscard]] std::string several_gpus_rule(int gpus);

/// Expected seconds that so many such GPUs save of a training by ALS, what they exchange counted
/// and their start not. `tuning`: that of one of them; `linked`: they reach each other's memory
/// directly.
[[nodiscard]] double seconds_saved(const AlsShape& shape, const AlsParams& params,
                                   const AlsTuning& tuning, const GpuInfo& gpu, int gpus,
                                   bool linked);

/// The same for SGD. Only `alternating` gains by more of them; 0 for other orders.
[[nodiscard]] double seconds_saved(const SgdShape& shape, const SgdParams& params,
                                   const GpuInfo& gpu, int gpus, bool linked);

/// Seconds to start the other GPUs and to connect all.
[[nodiscard]] double seconds_to_train_together(int gpus);

/// The same for people.
[[nodiscard]] std::string train_together_rule(int gpus);

}  // namespace likewise
