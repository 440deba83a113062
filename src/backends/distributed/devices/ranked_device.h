// SPDX-License-Identifier: Apache-2.0
/// Several devices as one, for those jobs that they can do together.
#pragma once

#include <functional>
#include <string>

#include "backends/distributed/devices/rank_devices.h"
#include "backends/jobs/device_jobs.h"

namespace likewise {

/// How devices train together, or why they do not.
struct SharedTraining {
  Offer<AlsJob> als;
  Offer<SgdJob> sgd;
  std::string one_alone;  ///< what to do about a job that is not shared
};

/// Lists, neighbours and predictions are shared out, with the answers of one device. `unlike` says
/// why devices that are not of one kind, which may cut their parts in other ways, do not search for
/// neighbours together; empty where they do.
[[nodiscard]] Device make_ranked_device(std::string name, std::function<std::string()> description,
                                        RankDevices ranks, const std::string& unlike,
                                        const SharedTraining& training);

}  // namespace likewise
