// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda_device.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "backends/cuda_tuner.h"
#include "backends/jobs/device_jobs.h"
#include "backends/load_plugin.h"
#include "core/instruction_set.h"
#include "core/memory_plan.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr int kOldestMajor = 8;

/// Why a card lacks a job that the plug-in has not got.
constexpr const char* kNotOnCards = "this version does it on the CPU only";

[[nodiscard]] std::string name_of(int device) { return fmt::format("cuda:{}", device); }

/// What keeps the card from use; empty where nothing does.
[[nodiscard]] std::string problem_of(const CudaCard& card) {
  if (!card.problem.empty() || card.major >= kOldestMajor) return card.problem;
  return fmt::format("too old: compute capability {}.0 or newer is needed", kOldestMajor);
}

[[nodiscard]] bool is_usable(const CudaCard& card) { return problem_of(card).empty(); }

[[nodiscard]] std::string describe(const CudaCard& card) {
  const std::string problem = problem_of(card);
  return fmt::format("{}, compute capability {}.{}, {:.0f} GiB{}{}", card.name, card.major,
                     card.minor, static_cast<double>(card.memory) / (1 << 30),
                     problem.empty() ? "" : ": ", problem);
}

class CudaAlsJob final : public AlsJob {
 public:
  CudaAlsJob(const CudaAls& als, int device, const CudaCard& card, int driver, Offset memory)
      : name_(name_of(device)), tuner_(als, device, card, driver, memory) {}
  [[nodiscard]] MemoryPlan plan(const AlsShape& shape, const AlsParams& params) const override {
    MemoryPlan plan = tuner_.plan(shape, params);
    check_memory_plan(fmt::format("training on {}, {}", name_, plan.way),
                      static_cast<double>(plan.machine));
    return plan;
  }
  [[nodiscard]] std::unique_ptr<AlsSolver> make_solver(const CsrView& by_user,
                                                       const AlsParams& params, Factors start,
                                                       int completed_iterations) const override {
    return tuner_.make_solver(by_user, params, std::move(start), completed_iterations);
  }
  [[nodiscard]] const AlsTuner* tuner() const override { return &tuner_; }

 private:
  std::string name_;
  CudaTuner tuner_;
};

class CudaNeighbourJob final : public NeighbourJob {
 public:
  CudaNeighbourJob(const CudaNeighbours& neighbours, int device, const CudaCard& card)
      : neighbours_(neighbours), device_(device), card_(card) {}
  [[nodiscard]] std::unique_ptr<NeighbourSearch> make_search(
      const SimilarityProblem& problem) const override {
    return neighbours_.make_search(device_, card_, problem);
  }

 private:
  const CudaNeighbours& neighbours_;
  int device_;
  CudaCard card_;
};

/// Card number `device`, which can be used.
[[nodiscard]] Device make_cuda_device(const CudaPlugin& plugin, const CudaCards& found, int device,
                                      const DeviceOptions& options) {
  chosen_target();
  const CudaCard& card = found.cards[static_cast<std::size_t>(device)];
  JobTable table{{nullptr, kNotOnCards}, {nullptr, kNotOnCards}, {nullptr, kNotOnCards}};
  if (plugin.als != nullptr) {
    std::get<Offer<AlsJob>>(table) = {std::make_shared<CudaAlsJob>(
        *plugin.als, device, card, found.driver, options.device_memory)};
  }
  if (plugin.neighbours != nullptr) {
    std::get<Offer<NeighbourJob>>(table) = {
        std::make_shared<CudaNeighbourJob>(*plugin.neighbours, device, card)};
  }
  return make_device(
      name_of(device), [text = describe(card)] { return text; }, std::move(table));
}

[[noreturn]] void refuse(std::string_view device, const std::string& reason) {
  throw Error(ErrorKind::kDevice, fmt::format("device {}: {}", device, reason));
}

/// The card of that number, or the first one that can be used.
[[nodiscard]] int choose(std::string_view device, std::optional<int> wanted,
                         const std::vector<CudaCard>& cards) {
  const auto first = std::ranges::find_if(cards, is_usable);
  if (!wanted && first != cards.end()) return static_cast<int>(first - cards.begin());
  const auto number = static_cast<std::size_t>(wanted.value_or(0));
  if (number >= cards.size()) {
    refuse(device, fmt::format("this machine has {} card{}, numbered from 0; `likewise info` lists "
                               "them",
                               cards.size(), cards.size() == 1 ? "" : "s"));
  }
  if (!is_usable(cards[number])) refuse(device, describe(cards[number]));
  return static_cast<int>(number);
}

}  // namespace

Device open_cuda(std::string_view device, std::optional<int> wanted, const DeviceOptions& options) {
  const CudaPlugin& plugin = load_cuda_plugin();
  const CudaCards found = plugin.find_cards();
  if (found.cards.empty()) refuse(device, found.problem);
  return make_cuda_device(plugin, found, choose(device, wanted, found.cards), options);
}

std::vector<DeviceStatus> cuda_statuses() {
  try {
    const CudaPlugin& plugin = load_cuda_plugin();
    const CudaCards found = plugin.find_cards();
    if (found.cards.empty()) return {{"cuda", false, found.problem, {}, {}}};
    std::vector<DeviceStatus> lines;
    for (const CudaCard& card : found.cards) {
      const int device = static_cast<int>(lines.size());
      if (is_usable(card)) {
        lines.push_back(status_of(make_cuda_device(plugin, found, device, {})));
      } else {
        lines.push_back({name_of(device), false, describe(card), {}, {}});
      }
    }
    return lines;
  } catch (const std::exception& error) {
    return {{"cuda", false, error.what(), {}, {}}};
  }
}

}  // namespace likewise
