// SPDX-License-Identifier: Apache-2.0
/// The only file that knows which backends exist.
#include <utility>

#include <fmt/format.h>

#include "backends/cpu/jobs.h"
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

}  // namespace

std::shared_ptr<const Backend> open_backend(std::string_view device) {
  if (device == "auto" || device == "cpu") return std::make_shared<CpuBackend>();
  if (device == "reference") return std::make_shared<ReferenceBackend>();
  if (device.substr(0, 4) == "cuda") {
    throw Error(
        ErrorKind::kDevice,
        fmt::format("device {}: this version has no CUDA backend; use auto or cpu", device));
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("device must be auto, cpu or reference, not \"{}\"", device));
}

std::vector<BackendStatus> backend_statuses() {
  return {{"cpu", true, CpuBackend().description()},
          {"reference", true, ReferenceBackend().description()},
          {"cuda", false, "not in this version"}};
}

}  // namespace likewise
