// SPDX-License-Identifier: Apache-2.0
/// A libcuda.so.1 without a GPU, for tests of what the plug-in makes of a driver's answers:
/// FAKE_DRIVER_VERSION is the CUDA version that it supports (13000 for 13.0), FAKE_DRIVER_STATUS
/// what it answers when CUDA starts.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

constexpr int kSymbolNotFound = 500;

int number(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

}  // namespace

extern "C" {

int cuDriverGetVersion(int* version) {
  *version = number("FAKE_DRIVER_VERSION");
  return 0;
}

int cuInit(unsigned) { return number("FAKE_DRIVER_STATUS"); }

int cuGetProcAddress_v2(const char* name, void** function, int, std::uint64_t, int*) {
  struct Known {
    std::string_view name;
    void* function;
  };
  const std::array known{Known{"cuDriverGetVersion", reinterpret_cast<void*>(cuDriverGetVersion)},
                         Known{"cuGetProcAddress", reinterpret_cast<void*>(cuGetProcAddress_v2)},
                         Known{"cuInit", reinterpret_cast<void*>(cuInit)}};
  for (const Known& each : known) {
    *function = each.function;
    if (each.name == name) return 0;
  }
  *function = nullptr;
  return kSymbolNotFound;
}

}  // extern "C"
