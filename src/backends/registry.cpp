// SPDX-License-Identifier: Apache-2.0
/// The only file that knows which backends exist.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "backends/cpu/jobs.h"
#include "backends/load_plugin.h"
#include "backends/reference/jobs.h"
#include "core/instruction_set.h"
#include "likewise/als.h"
#include "likewise/backend.h"

namespace likewise {
namespace {

void require_precision(const AlsParams& params, std::string_view backend) {
  if (params.precision == Precision::kAuto || params.precision == Precision::kFp32) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("precision: the {} backend trains in fp32; use auto or fp32", backend));
}

class ReferenceBackend final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "reference"; }
  [[nodiscard]] std::string description() const override {
    return "plain loops in double precision, for checking; slow";
  }
  [[nodiscard]] std::unique_ptr<AlsSolver> make_als_solver(const CsrView& by_user,
                                                           const AlsParams& params, Factors start,
                                                           int) const override {
    require_precision(params, name());
    return make_reference_als_solver(by_user, params, std::move(start));
  }
  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(
      const MatrixView& items, std::span<const float> item_bias) const override {
    return make_reference_scorer(items, item_bias);
  }
};

class CpuBackend final : public Backend {
 public:
  CpuBackend() { chosen_target(); }
  [[nodiscard]] std::string_view name() const override { return "cpu"; }
  [[nodiscard]] std::string description() const override {
    return fmt::format("{} kernels, {} threads", instruction_set(), thread_count());
  }
  [[nodiscard]] std::unique_ptr<AlsSolver> make_als_solver(
      const CsrView& by_user, const AlsParams& params, Factors start,
      int completed_iterations) const override {
    require_precision(params, name());
    return make_cpu_als_solver(by_user, params, std::move(start), completed_iterations);
  }
  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(
      const MatrixView& items, std::span<const float> item_bias) const override {
    return make_cpu_scorer(items, item_bias);
  }
};

/// Trains on a card. Nothing happens there before a job is made. Lists are made on the CPU.
class CudaBackend final : public Backend {
 public:
  CudaBackend(const CudaPlugin& plugin, int device, std::string description)
      : plugin_(plugin),
        device_(device),
        name_(fmt::format("cuda:{}", device)),
        description_(std::move(description)) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string description() const override { return description_; }
  [[nodiscard]] std::unique_ptr<AlsSolver> make_als_solver(
      const CsrView& by_user, const AlsParams& params, Factors start,
      int completed_iterations) const override {
    const std::array devices{device_};
    return plugin_.make_als_solver(devices, by_user, params, std::move(start),
                                   completed_iterations);
  }
  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(
      const MatrixView& items, std::span<const float> item_bias) const override {
    return cpu_.make_scorer(items, item_bias);
  }

 private:
  CpuBackend cpu_;
  const CudaPlugin& plugin_;
  int device_;
  std::string name_;
  std::string description_;
};

/// Whether "auto" takes a card that works, or stays on the CPU.
constexpr bool kAutoTakesCuda = false;

[[noreturn]] void refuse_device(std::string_view device, std::string_view reason) {
  throw Error(ErrorKind::kDevice, fmt::format("device {}: {}", device, reason));
}

/// The numbers behind "cuda:"; nothing where they are not such.
[[nodiscard]] std::optional<std::vector<int>> parse_numbers(std::string_view text) {
  std::vector<int> numbers;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data();; ++at) {
    int number = -1;
    const auto [next, failure] = std::from_chars(at, end, number);
    if (failure != std::errc{} || number < 0) return std::nullopt;
    numbers.push_back(number);
    if (next == end) return numbers;
    if (*next != ',') return std::nullopt;
    at = next;
  }
}

/// The card of that number, or the first one that can be used.
[[nodiscard]] std::size_t choose_card(std::string_view device, std::optional<int> wanted,
                                      const std::vector<CudaCard>& cards) {
  if (!wanted) {
    const auto first = std::ranges::find_if(cards, &CudaCard::usable);
    if (first != cards.end()) return static_cast<std::size_t>(first - cards.begin());
  }
  const auto number = static_cast<std::size_t>(wanted.value_or(0));
  if (number >= cards.size()) {
    refuse_device(device, fmt::format("this machine has {} CUDA device{}, numbered from 0",
                                      cards.size(), cards.size() == 1 ? "" : "s"));
  }
  if (!cards[number].usable) refuse_device(device, cards[number].description);
  return number;
}

[[nodiscard]] std::shared_ptr<const Backend> open_cuda(std::string_view device,
                                                       std::optional<int> wanted) {
  const CudaPlugin& plugin = load_cuda_plugin();
  const CudaCards found = plugin.find_cards();
  if (found.cards.empty()) refuse_device(device, found.problem);
  const std::size_t number = choose_card(device, wanted, found.cards);
  return std::make_shared<CudaBackend>(plugin, static_cast<int>(number),
                                       found.cards[number].description);
}

[[nodiscard]] std::shared_ptr<const Backend> open_auto() {
  if (kAutoTakesCuda) {
    try {
      return open_cuda("auto", {});
    } catch (const Error&) {  // backend_statuses says what is wrong
    }
  }
  return std::make_shared<CpuBackend>();
}

/// A line for each card, or one that says why there is none.
[[nodiscard]] std::vector<BackendStatus> cuda_statuses() {
  try {
    const CudaCards found = load_cuda_plugin().find_cards();
    if (found.cards.empty()) return {{"cuda", false, found.problem}};
    std::vector<BackendStatus> lines;
    for (const CudaCard& card : found.cards) {
      lines.push_back({fmt::format("cuda:{}", lines.size()), card.usable, card.description});
    }
    return lines;
  } catch (const std::exception& error) {
    return {{"cuda", false, error.what()}};
  }
}

}  // namespace

std::shared_ptr<const Backend> open_backend(std::string_view device) {
  if (device == "auto") return open_auto();
  if (device == "cpu") return std::make_shared<CpuBackend>();
  if (device == "reference") return std::make_shared<ReferenceBackend>();
  if (device == "cuda") return open_cuda(device, {});
  if (device.starts_with("cuda:")) {
    if (const auto numbers = parse_numbers(device.substr(5))) {
      if (numbers->size() == 1) return open_cuda(device, numbers->front());
      refuse_device(device, "this version trains on one card, not on several; name one, as cuda:0");
    }
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("device must be auto, cpu, reference, cuda or cuda:N (N is the number of "
                          "a card, from 0), not \"{}\"",
                          device));
}

std::vector<BackendStatus> backend_statuses() {
  std::vector<BackendStatus> all{{"cpu", true, CpuBackend().description()},
                                 {"reference", true, ReferenceBackend().description()}};
  for (BackendStatus& line : cuda_statuses()) all.push_back(std::move(line));
  return all;
}

}  // namespace likewise
