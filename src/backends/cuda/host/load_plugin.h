// SPDX-License-Identifier: Apache-2.0
/// Finds the CUDA plug-in and checks that it belongs to this program.
#pragma once

#include "backends/cuda/host/plugin.h"

namespace likewise {

/// Looks for liblikewise_cuda.so in the folder that LIKEWISE_PLUGIN_PATH names; where that is not
/// set, next to the program and in ../lib/likewise seen from there. The plug-in stays loaded until
/// the process ends. Throws Error(kDevice) saying why there is none that can be used and what to
/// do; also in a process that was forked from one that had called this.
[[nodiscard]] const CudaPlugin& load_cuda_plugin();

}  // namespace likewise
