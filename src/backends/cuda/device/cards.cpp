// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/cards.h"

#include <array>
#include <cstdlib>
#include <cuda_runtime_api.h>

#include <fmt/format.h>

namespace likewise::cuda {
namespace {

constexpr int kOldestMajor = 8;

/// CUDA numbers its versions 1000 major + 10 minor.
[[nodiscard]] std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// Every driver from the first one of a major version on will do.
[[nodiscard]] std::string needed_driver() {
  constexpr int kMajor = CUDART_VERSION / 1000;
  const std::string cuda = fmt::format("CUDA {}.0 or newer", kMajor);
  if (kMajor == 12) return cuda + " (driver 525 or newer)";
  if (kMajor == 13) return cuda + " (driver 580 or newer)";
  return cuda;
}

[[nodiscard]] std::string insufficient_driver() {
  int supported = 0;
  if (cudaDriverGetVersion(&supported) != cudaSuccess || supported == 0) {
    return fmt::format(
        "no NVIDIA driver is loaded; a card needs one that supports {}, and a container must be "
        "given its cards (docker run --gpus all)",
        needed_driver());
  }
  return fmt::format(
      "the NVIDIA driver is too old: it supports CUDA {}, this build needs {}. Update the driver, "
      "or build likewise with a toolkit that it supports",
      version_text(supported), needed_driver());
}

[[nodiscard]] std::string no_device() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return "the NVIDIA driver sees no card";
  return fmt::format("the NVIDIA driver shows no card with CUDA_VISIBLE_DEVICES=\"{}\"", visible);
}

struct Explanation {
  cudaError_t status;
  const char* text;
};

/// What a user can do about the rest.
constexpr std::array kExplanations{
    Explanation{cudaErrorSystemDriverMismatch,
                "the NVIDIA driver in the kernel and its libraries are of different versions; "
                "restart the machine"},
    Explanation{cudaErrorSystemNotReady,
                "the NVIDIA driver is not ready; on a machine with NVSwitch start the service "
                "nvidia-fabricmanager"},
    Explanation{cudaErrorCompatNotSupportedOnDevice,
                "CUDA's compatibility libraries do not work with this card; take them off "
                "LD_LIBRARY_PATH or update the driver"},
    Explanation{cudaErrorStubLibrary,
                "the libcuda.so that was found is the toolkit's stub; take its folder off "
                "LD_LIBRARY_PATH"},
    Explanation{cudaErrorUnknown,
                "the NVIDIA driver does not answer; run `nvidia-modprobe -u -c 0` as root, or "
                "restart the machine"},
};

[[nodiscard]] std::string explain(cudaError_t status) {
  if (status == cudaErrorInsufficientDriver) return insufficient_driver();
  if (status == cudaErrorNoDevice || status == cudaSuccess) return no_device();
  const std::string name =
      fmt::format("{}: {}", cudaGetErrorName(status), cudaGetErrorString(status));
  for (const Explanation& known : kExplanations) {
    if (known.status == status) return fmt::format("{} ({})", known.text, name);
  }
  return "CUDA does not start: " + name;
}

[[nodiscard]] CudaCard describe(int device) {
  cudaDeviceProp card{};
  int mode = cudaComputeModeDefault;
  cudaError_t status = cudaGetDeviceProperties(&card, device);
  if (status == cudaSuccess) {
    status = cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, device);
  }
  if (status != cudaSuccess) return {false, explain(status)};
  const std::string text =
      fmt::format("{}, compute capability {}.{}, {:.0f} GiB", card.name, card.major, card.minor,
                  static_cast<double>(card.totalGlobalMem) / (1 << 30));
  if (card.major < kOldestMajor) {
    return {false, fmt::format("{}: too old, compute capability {}.0 or newer is needed", text,
                               kOldestMajor)};
  }
  if (mode == cudaComputeModeProhibited) {
    return {false, text + ": closed to programs (nvidia-smi shows its compute mode as Prohibited)"};
  }
  return {true, text};
}

}  // namespace

CudaCards find_cards() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  CudaCards found;
  for (int device = 0; status == cudaSuccess && device < count; ++device) {
    found.cards.push_back(describe(device));
  }
  if (found.cards.empty()) found.problem = explain(status);
  static_cast<void>(cudaGetLastError());  // an answer, not somebody's failure
  return found;
}

}  // namespace likewise::cuda
