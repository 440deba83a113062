// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/gpus.h"

#include <array>
#include <cstdlib>
#include <cuda_runtime_api.h>

#include <fmt/format.h>

namespace likewise::cuda {
namespace {

/// CUDA numbers its versions 1000 major + 10 minor.
[[nodiscard]] std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

constexpr int kMajor = CUDART_VERSION / 1000;

/// Every driver from the first one for a major version on will do.
[[nodiscard]] std::string needed_driver() {
  const std::string cuda = fmt::format("CUDA {}.0 or newer", kMajor);
  if (kMajor == 12) return cuda + " (driver 525 or newer)";
  if (kMajor == 13) return cuda + " (driver 580 or newer)";
  return cuda;
}

/// What CUDA the driver supports; 0 without a driver.
[[nodiscard]] int supported_version() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

[[nodiscard]] std::string no_driver() {
  return fmt::format(
      "no NVIDIA driver is loaded; a GPU needs one that supports {}, and a container must be "
      "given "
      "its GPUs (docker run --gpus all)",
      needed_driver());
}

[[nodiscard]] std::string old_driver(int supported) {
  return fmt::format(
      "the NVIDIA driver is too old: it supports CUDA {}, this build needs {}. Update the driver, "
      "or build likewise with a toolkit that it supports",
      version_text(supported), needed_driver());
}

[[nodiscard]] std::string no_device() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return "the NVIDIA driver sees no GPU";
  return fmt::format("the NVIDIA driver shows no GPU with CUDA_VISIBLE_DEVICES=\"{}\"", visible);
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
                "CUDA's compatibility libraries do not work with this GPU; take them off "
                "LD_LIBRARY_PATH or update the driver"},
    Explanation{cudaErrorStubLibrary,
                "the libcuda.so that was found is the toolkit's stub; take its folder off "
                "LD_LIBRARY_PATH"},
    Explanation{cudaErrorUnknown,
                "the NVIDIA driver does not answer; run `nvidia-modprobe -u -c 0` as root, or "
                "restart the machine"},
};

[[nodiscard]] std::string explain(cudaError_t status) {
  const int supported = supported_version();
  if (supported == 0) return no_driver();
  if (supported / 1000 < kMajor) return old_driver(supported);
  if (status == cudaErrorNoDevice) return no_device();
  const std::string name =
      fmt::format("{}: {}", cudaGetErrorName(status), cudaGetErrorString(status));
  for (const Explanation& known : kExplanations) {
    if (known.status == status) return fmt::format("{} ({})", known.text, name);
  }
  return "CUDA does not start: " + name;
}

[[nodiscard]] double attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

[[nodiscard]] GpuSpecs specs_of(const cudaDeviceProp& gpu, int device) {
  constexpr double kKilo = 1000.0;  // clocks are in kHz
  const double memory_clock = kKilo * attribute(cudaDevAttrMemoryClockRate, device);
  return {gpu.multiProcessorCount,
          kKilo * attribute(cudaDevAttrClockRate, device),
          2.0 * memory_clock * gpu.memoryBusWidth / 8.0,  // two transfers a clock
          gpu.l2CacheSize,
          static_cast<Offset>(gpu.sharedMemPerMultiprocessor),
          static_cast<Offset>(gpu.sharedMemPerBlockOptin)};
}

/// As nvidia-smi writes it, without its dashes.
[[nodiscard]] std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (const char byte : uuid.bytes) {
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return text;
}

[[nodiscard]] GpuInfo describe(int device) {
  cudaDeviceProp gpu{};
  int mode = cudaComputeModeDefault;
  cudaError_t status = cudaGetDeviceProperties(&gpu, device);
  if (status == cudaSuccess) {
    status = cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, device);
  }
  GpuInfo found{gpu.name, gpu.major, gpu.minor, static_cast<Offset>(gpu.totalGlobalMem), {}, {}};
  if (status == cudaSuccess) {
    found.specs = specs_of(gpu, device);
    found.uuid = uuid_text(gpu.uuid);
  }
  if (status != cudaSuccess) found.problem = explain(status);
  if (mode == cudaComputeModeProhibited) {
    found.problem = "closed to programs: `nvidia-smi -c DEFAULT` as root opens it";
  }
  return found;
}

}  // namespace

FoundGpus find_gpus() {
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count == 0) status = cudaErrorNoDevice;
  FoundGpus found;
  found.driver = supported_version();
  if (status != cudaSuccess) found.problem = explain(status);
  for (int device = 0; status == cudaSuccess && device < count; ++device) {
    found.gpus.push_back(describe(device));
  }
  static_cast<void>(cudaGetLastError());  // an answer, not the failure of a later call
  return found;
}

}  // namespace likewise::cuda
