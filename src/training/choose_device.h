// SPDX-License-Identifier: Apache-2.0
/// Which device trains.
#pragma once

#include "likewise/csr.h"
#include "likewise/training.h"

namespace likewise {

/// Throws Error(kDevice) where the device cannot train with this algorithm, and
/// Error(kInvalidArgument) where not with these parameters.
void require_to_train(const Device& device, const TrainingParams& params);

/// Whether "auto" can wait for the data to choose between the CPU and a GPU: the CPU trains with
/// these parameters, and there is no limit for a GPU alone.
[[nodiscard]] bool can_wait_for_data(std::string_view device, const TrainingParams& params,
                                     const DeviceOptions& options);

/// What "auto" chooses by the data: the CPU, where it is expected to have trained before a GPU has
/// started; else as open_device_to_train().
[[nodiscard]] DeviceChoice choose_by_data(const CsrView& by_user, const TrainingParams& params,
                                          const DeviceOptions& options, std::span<const Job> also);

}  // namespace likewise
