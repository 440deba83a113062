// SPDX-License-Identifier: Apache-2.0
#include "energy_meter.h"

#include <dlfcn.h>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace likewise {
namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";
constexpr const char* kPowercap = "/sys/class/powercap";

/// A number in a file of one line.
[[nodiscard]] std::optional<double> number_in(const std::string& path) {
  std::ifstream file(path);
  double number = 0.0;
  if (file >> number) return number;
  return std::nullopt;
}

/// A function of NVML; null where the driver lacks it.
template <class Function>
[[nodiscard]] Function* function_of(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

/// The folders of whole processors, "intel-rapl:0" and so on, which AMD's have too.
[[nodiscard]] std::vector<std::string> processor_folders() {
  std::vector<std::string> folders;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(kPowercap, none)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("intel-rapl:") && name.find(':') == name.rfind(':')) {
      folders.push_back(entry.path());
    }
  }
  return folders;
}

}  // namespace

EnergyMeter::EnergyMeter(int gpu) {
  if (gpu >= 0) find_gpu(gpu);
  find_processor();
}

void EnergyMeter::find_gpu(int number) {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    missing_.push_back(fmt::format("The GPU's counter cannot be read: no {}.", kLibrary));
    return;
  }
  auto* start = function_of<int()>(library, "nvmlInit_v2");
  auto* find = function_of<int(unsigned, void**)>(library, "nvmlDeviceGetHandleByIndex_v2");
  gpu_energy_ =
      function_of<int(void*, unsigned long long*)>(library, "nvmlDeviceGetTotalEnergyConsumption");
  unsigned long long millijoules = 0;
  if (start == nullptr || find == nullptr || gpu_energy_ == nullptr || start() != 0 ||
      find(static_cast<unsigned>(number), &gpu_) != 0 || gpu_energy_(gpu_, &millijoules) != 0) {
    gpu_ = nullptr;
    missing_.push_back("The GPU's counter cannot be read: NVML does not have it.");
  }
}

void EnergyMeter::find_processor() {
  for (const std::string& folder : processor_folders()) {
    const auto energy = number_in(folder + "/energy_uj");
    const auto range = number_in(folder + "/max_energy_range_uj");
    if (!energy || !range) continue;
    packages_.push_back(folder);
    processor_range_ = 1e-6 * *range;
  }
  if (packages_.empty()) {
    missing_.push_back(fmt::format(
        "The processor's counter cannot be read: no {}/intel-rapl:*/energy_uj.", kPowercap));
  }
}

Energy EnergyMeter::read() const {
  Energy now;
  unsigned long long millijoules = 0;
  if (gpu_ != nullptr && gpu_energy_(gpu_, &millijoules) == 0) {
    now.gpu = 1e-3 * static_cast<double>(millijoules);
  }
  for (const std::string& folder : packages_) {
    now.processor =
        now.processor.value_or(0.0) + 1e-6 * number_in(folder + "/energy_uj").value_or(0.0);
  }
  return now;
}

Energy EnergyMeter::between(const Energy& begin, const Energy& end) const {
  Energy passed;
  if (begin.gpu && end.gpu) passed.gpu = *end.gpu - *begin.gpu;
  if (begin.processor && end.processor) {
    passed.processor = *end.processor - *begin.processor;
    if (*passed.processor < 0.0) *passed.processor += processor_range_;
  }
  return passed;
}

}  // namespace likewise
