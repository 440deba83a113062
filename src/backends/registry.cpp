// SPDX-License-Identifier: Apache-2.0
/// The only file that knows which backends exist.
#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/weights.h"
#include "backends/cpu/jobs.h"
#include "backends/cuda_backend.h"
#include "backends/reference/jobs.h"
#include "core/instruction_set.h"
#include "core/memory_plan.h"
#include "likewise/device.h"

namespace likewise {
namespace {

void require_precision(const AlsParams& params, std::string_view backend) {
  if (params.precision == Precision::kAuto || params.precision == Precision::kFp32) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("precision: the {} backend trains in fp32; use auto or fp32", backend));
}

/// Adds the parts up; throws where they do not fit.
[[nodiscard]] MemoryPlan checked_plan(const AlsShape& shape, std::vector<MemoryPlan::Part> parts) {
  MemoryPlan plan;
  plan.way = "everything in the machine's memory";
  plan.parts = std::move(parts);
  for (const MemoryPlan::Part& part : plan.parts) plan.total += part.bytes;
  plan.available = static_cast<Offset>(
      std::min<std::uint64_t>(available_memory(), std::numeric_limits<Offset>::max()));
  check_memory_plan(fmt::format("training on {} users x {} items, {} interactions", shape.users,
                                shape.items, shape.interactions),
                    static_cast<double>(plan.total));
  return plan;
}

/// What every training on the processor takes beside the interactions, which are there.
[[nodiscard]] std::vector<MemoryPlan::Part> common_parts(const AlsShape& shape,
                                                         const AlsParams& params) {
  const Offset rows = Offset{shape.users} + shape.items;
  const bool biased = als_width(params) > params.factors;
  constexpr Offset kFloat = sizeof(float);
  return {{"interactions by item", shape.interactions * Offset{sizeof(Index) + sizeof(float)}},
          {"factors", rows * (padded_stride(params.factors) + (biased ? 1 : 0)) * kFloat}};
}

[[nodiscard]] MemoryPlan plan_reference_als(const AlsShape& shape, const AlsParams& params) {
  const Offset rows = Offset{shape.users} + shape.items;
  const Offset row_bytes =
      Offset{sizeof(std::vector<double>)} + Offset{als_width(params)} * Offset{sizeof(double)};
  auto parts = common_parts(shape, params);
  parts.push_back({"factors in double precision", rows * row_bytes});
  return checked_plan(shape, std::move(parts));
}

[[nodiscard]] MemoryPlan plan_cpu_als(const AlsShape& shape, const AlsParams& params) {
  constexpr Offset kFloat = sizeof(float);
  const Offset rows = Offset{shape.users} + shape.items;
  const Offset width = padded_stride(als_width(params));
  auto parts = common_parts(shape, params);
  parts.push_back({"fixed side in its basis", std::max(shape.users, shape.items) * width * kFloat});
  parts.push_back({"order of the rows", rows * Offset{sizeof(Index) + sizeof(Offset)}});
  return checked_plan(shape, std::move(parts));
}

class ReferenceBackend final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "reference"; }
  [[nodiscard]] std::string description() const override {
    return "plain loops in double precision, for checking; slow";
  }
  [[nodiscard]] MemoryPlan plan_als(const AlsShape& shape, const AlsParams& params) const override {
    return plan_reference_als(shape, params);
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
  [[nodiscard]] std::unique_ptr<NeighbourSearch> make_neighbour_search(
      const SimilarityProblem& problem) const override {
    return make_reference_neighbour_search(problem);
  }
};

class CpuBackend final : public Backend {
 public:
  CpuBackend() { chosen_target(); }
  [[nodiscard]] std::string_view name() const override { return "cpu"; }
  [[nodiscard]] std::string description() const override {
    return fmt::format("{} kernels, {} threads", instruction_set(), thread_count());
  }
  [[nodiscard]] MemoryPlan plan_als(const AlsShape& shape, const AlsParams& params) const override {
    return plan_cpu_als(shape, params);
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
  [[nodiscard]] std::unique_ptr<NeighbourSearch> make_neighbour_search(
      const SimilarityProblem& problem) const override {
    return make_cpu_neighbour_search(problem);
  }
};

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

/// Makes a solver of an empty matrix: what the device cannot do is refused here.
void require_job(const Backend& backend, const AlsParams& params) {
  const CsrMatrix nothing{0, 0, Array<Offset>(1), {}, {}};
  Factors none{Matrix(0, params.factors), Matrix(0, params.factors), {}, {}, 0.0F};
  (void)backend.make_als_solver(nothing.view(), params, std::move(none));
}

/// Every device finds neighbours, whatever the parameters.
void require_job(const Backend&, const NeighbourParams&) {}
/// What is popular is counted on the CPU with every device.
void require_job(const Backend&, const PopularParams&) {}

void require_training(const Backend& backend, const TrainingParams& params) {
  std::visit([&](const auto& some) { require_job(backend, some); }, params);
}

[[nodiscard]] DeviceChoice choose_to_train(const TrainingParams& params,
                                           const BackendOptions& options) {
  if (std::holds_alternative<PopularParams>(params)) return {std::make_shared<CpuBackend>(), {}};
  std::shared_ptr<const Backend> card;
  try {
    card = open_cuda("cuda", {}, options);
  } catch (const std::exception&) {
    return {std::make_shared<CpuBackend>(), "no card can be used, `likewise info` says why"};
  }
  try {
    require_training(*card, params);
  } catch (const Error& error) {
    return {std::make_shared<CpuBackend>(), fmt::format("{}: {}", card->name(), error.what())};
  }
  return {std::move(card), {}};
}

void check_options(const BackendOptions& options, std::string_view device) {
  if (options.device_memory < 0) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("device_memory must be 0 (what is free) or a number of bytes, not {}",
                            options.device_memory));
  }
  if (options.device_memory > 0 && !device.starts_with("cuda")) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("device_memory: {} bytes were given, but device {} has no memory of its "
                    "own; ask for a card, as cuda",
                    options.device_memory, device));
  }
}

}  // namespace

std::shared_ptr<const Backend> open_backend(std::string_view device,
                                            const BackendOptions& options) {
  check_options(options, device);
  if (device == "auto" || device == "cpu") return std::make_shared<CpuBackend>();
  if (device == "reference") return std::make_shared<ReferenceBackend>();
  if (device == "cuda") return open_cuda(device, {}, options);
  if (device.starts_with("cuda:")) {
    if (const auto numbers = parse_numbers(device.substr(5))) {
      if (numbers->size() == 1) return open_cuda(device, numbers->front(), options);
      throw Error(ErrorKind::kDevice,
                  fmt::format("device {}: this version trains on one card, not on several; name "
                              "one, as cuda:{}",
                              device, numbers->front()));
    }
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("device must be auto, cpu, reference, cuda or cuda:N (N is the number of "
                          "a card, from 0), not \"{}\"",
                          device));
}

DeviceChoice open_backend_to_train(std::string_view device, const TrainingParams& params,
                                   const BackendOptions& options) {
  DeviceChoice choice = device == "auto" ? choose_to_train(params, options)
                                         : DeviceChoice{open_backend(device, options), {}};
  require_training(*choice.backend, params);
  return choice;
}

std::string device_text(const Backend& backend) {
  return fmt::format("{} ({})", backend.name(), backend.description());
}

std::vector<BackendStatus> backend_statuses() {
  std::vector<BackendStatus> all{{"cpu", true, CpuBackend().description(), {}},
                                 {"reference", true, ReferenceBackend().description(), {}}};
  for (BackendStatus& line : cuda_statuses()) all.push_back(std::move(line));
  return all;
}

}  // namespace likewise
