// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda_backend.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "backends/cpu/jobs.h"
#include "backends/cuda_tuner.h"
#include "backends/load_plugin.h"
#include "core/instruction_set.h"
#include "core/memory_plan.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr int kOldestMajor = 8;

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

/// Trains ALS and finds neighbours on a card. Lists are made on the CPU.
class CudaBackend final : public Backend {
 public:
  CudaBackend(const CudaPlugin& plugin, int device, const CudaCard& card, int driver,
              const BackendOptions& options)
      : plugin_(plugin),
        device_(device),
        card_(card),
        tuner_(plugin, device, card, driver, options.device_memory),
        name_(fmt::format("cuda:{}", device)),
        description_(describe(card)) {
    chosen_target();
  }
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string description() const override { return description_; }
  [[nodiscard]] MemoryPlan plan_als(const AlsShape& shape, const AlsParams& params) const override {
    MemoryPlan plan = tuner_.plan_als(shape, params);
    check_memory_plan(fmt::format("training on {}, {}", name_, plan.way),
                      static_cast<double>(plan.machine));
    return plan;
  }
  [[nodiscard]] std::unique_ptr<AlsSolver> make_als_solver(
      const CsrView& by_user, const AlsParams& params, Factors start,
      int completed_iterations) const override {
    return tuner_.make_als_solver(by_user, params, std::move(start), completed_iterations);
  }
  [[nodiscard]] const AlsTuner* als_tuner() const override { return &tuner_; }
  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(
      const MatrixView& items, std::span<const float> item_bias) const override {
    return make_cpu_scorer(items, item_bias);
  }
  [[nodiscard]] std::unique_ptr<NeighbourSearch> make_neighbour_search(
      const SimilarityProblem& problem) const override {
    return plugin_.make_neighbour_search(device_, card_, problem);
  }

 private:
  const CudaPlugin& plugin_;
  int device_;
  CudaCard card_;
  CudaTuner tuner_;
  std::string name_;
  std::string description_;
};

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

std::shared_ptr<const Backend> open_cuda(std::string_view device, std::optional<int> wanted,
                                         const BackendOptions& options) {
  const CudaPlugin& plugin = load_cuda_plugin();
  const CudaCards found = plugin.find_cards();
  if (found.cards.empty()) refuse(device, found.problem);
  const int number = choose(device, wanted, found.cards);
  return std::make_shared<CudaBackend>(
      plugin, number, found.cards[static_cast<std::size_t>(number)], found.driver, options);
}

std::vector<BackendStatus> cuda_statuses() {
  try {
    const CudaPlugin& plugin = load_cuda_plugin();
    const CudaCards found = plugin.find_cards();
    if (found.cards.empty()) return {{"cuda", false, found.problem, {}}};
    std::vector<BackendStatus> lines;
    for (const CudaCard& card : found.cards) {
      const int device = static_cast<int>(lines.size());
      lines.push_back({fmt::format("cuda:{}", device), is_usable(card), describe(card), {}});
      if (!is_usable(card)) continue;
      lines.back().tuning = CudaTuner(plugin, device, card, found.driver, 0).source();
    }
    return lines;
  } catch (const std::exception& error) {
    return {{"cuda", false, error.what(), {}}};
  }
}

}  // namespace likewise
