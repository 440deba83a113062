// SPDX-License-Identifier: Apache-2.0
/// Several devices as one, for those jobs that they can do together.
#pragma once

#include <functional>
#include <string>

#include "backends/jobs/device_jobs.h"
#include "backends/ranks/rank_devices.h"

namespace likewise {

/// Why GPUs that are not alike lack a job.
inline constexpr const char* kOneKind = "it takes GPUs of one kind";

/// Lists, neighbours (on devices of one kind, else the first searches alone) and predictions are
/// shared out, with the answers of one device. `als`: how they train together. `one_alone` says
/// what to do about a job that they cannot share.
[[nodiscard]] Device make_ranked_device(std::string name, std::function<std::string()> description,
                                        RankDevices ranks, bool of_one_kind, Offer<AlsJob> als,
                                        const std::string& one_alone);

}  // namespace likewise
