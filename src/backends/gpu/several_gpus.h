// SPDX-License-Identifier: Apache-2.0
/// When `auto` takes several GPUs for one job: where what they save is more than what it takes to
/// start them.
#pragma once

#include <string>

#include "backends/gpu/plugin.h"

namespace likewise {

/// Expected seconds of a search for the k nearest rows on one such GPU.
[[nodiscard]] double seconds_of_search(const SimilarityProblem& problem, Index k,
                                       const GpuInfo& gpu);

/// Work that takes so long on one GPU takes 1 / gpus of it on several, which are started one after
/// the other: whether seconds (1 - 1 / gpus) > (gpus - 1) seconds of a start.
[[nodiscard]] bool several_gpus_pay(double seconds, int gpus);

/// The same for people.
[[nodiscard]] std::string several_gpus_rule(int gpus);

}  // namespace likewise
