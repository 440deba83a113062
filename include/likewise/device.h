// SPDX-License-Identifier: Apache-2.0
/// The device for a training.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "likewise/backend.h"
#include "likewise/parameters.h"

namespace likewise {

struct DeviceChoice {
  std::shared_ptr<const Backend> backend;
  std::string reason;  ///< why "auto" took no card; else empty
};

/// As open_backend(), for a training with these parameters. "auto" takes the first card that can be
/// used, or the CPU where there is none and where the card cannot do it or has nothing to do. A
/// device that cannot throws Error(kInvalidArgument) here, before any data is read. A limit of the
/// card's memory means nothing where "auto" takes the CPU.
[[nodiscard]] DeviceChoice open_backend_to_train(std::string_view device,
                                                 const TrainingParams& params,
                                                 const BackendOptions& options = {});

}  // namespace likewise
