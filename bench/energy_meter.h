// SPDX-License-Identifier: Apache-2.0
/// The counters of energy of a GPU (NVML, of its driver) and of the processor (powercap).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace likewise {

/// Joules since some moment; empty where the counter cannot be read.
struct Energy {
  std::optional<double> gpu;
  std::optional<double> processor;
};

class EnergyMeter {
 public:
  /// `gpu`: its number as nvidia-smi counts; below 0: none.
  explicit EnergyMeter(int gpu);

  [[nodiscard]] Energy read() const;
  /// What passed between two readings. The processor's counters may have begun again once.
  [[nodiscard]] Energy between(const Energy& begin, const Energy& end) const;
  /// A sentence for each counter that cannot be read.
  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }

 private:
  void find_gpu(int number);
  void find_processor();

  void* gpu_ = nullptr;  ///< NVML's handle
  int (*gpu_energy_)(void*, unsigned long long*) = nullptr;
  std::vector<std::string> packages_;  ///< folders of powercap
  double processor_range_ = 0.0;       ///< of all packages, joules
  std::vector<std::string> missing_;
};

}  // namespace likewise
