// SPDX-License-Identifier: Apache-2.0
/// NVIDIA GPUs as the program sees them: those that the plug-in found.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "backends/cuda/host/plugin.h"
#include "likewise/device.h"
#include "likewise/parameters.h"

namespace likewise {

/// Opens the GPUs of these numbers, none twice, as one device, or the first GPU that can be used
/// where none is named. Nothing happens on a GPU before a job is made. `device` is the text that
/// asked for it; errors begin with it. Throws Error(kDevice).
[[nodiscard]] Device open_cuda(std::string_view device, const std::vector<int>& wanted,
                               const DeviceOptions& options);

/// All GPUs that can be used, as one device.
[[nodiscard]] Device open_all_cuda(std::string_view device, const DeviceOptions& options);

/// The first GPU that can be used, for a training that may take several: a search for neighbours,
/// and where `gains` says so ALS and SGD, are shared with all GPUs of its kind where that is
/// expected to be faster. EASE is trained there or on `cpu` (gpu_or_cpu.h).
[[nodiscard]] Device open_cuda_to_train(bool gains, const Device& cpu,
                                        const DeviceOptions& options);

/// The job `als` of these usable GPUs, of one kind, which train together. `plugin` and `found` are
/// what was loaded and found; it has the job. `memory` as GpuUse::memory.
[[nodiscard]] std::shared_ptr<const AlsJob> make_cuda_als_job(const CudaPlugin& plugin,
                                                              const FoundGpus& found,
                                                              const std::vector<int>& devices,
                                                              Offset memory);

/// The same for the job `sgd`.
[[nodiscard]] std::shared_ptr<const SgdJob> make_cuda_sgd_job(const CudaPlugin& plugin,
                                                              const std::vector<int>& devices,
                                                              Offset memory);

/// A line for each GPU, or one that says why there is none. Never throws.
[[nodiscard]] std::vector<DeviceStatus> cuda_statuses();

}  // namespace likewise
