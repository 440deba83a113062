// SPDX-License-Identifier: Apache-2.0
/// A plug-in without CUDA, for tests of what the program makes of one. FAKE_PLUGIN says what is
/// wrong with it; without it, two cards are there, the first too old, and training is the CPU's.
#include "backends/plugin.h"

#include <cstdlib>
#include <stdexcept>

#include "backends/cpu/jobs.h"
#include "likewise/error.h"
#include "likewise/version.h"

namespace likewise {
namespace {

[[nodiscard]] bool fault_is(std::string_view fault) {
  const char* wanted = std::getenv("FAKE_PLUGIN");
  return wanted != nullptr && wanted == fault;
}

CudaCards find_cards() {
  if (fault_is("search")) throw std::runtime_error("the cards are on fire");
  if (fault_is("no card")) return {{}, 0, "there is no card in this test"};
  const CudaCard old{"Old Card", 7, 5, Offset{8} << 30, {}, {}};
  const CudaCard fine{"Fine Card", 9, 0, Offset{140} << 30, {}, {}};
  const CudaCard closed{"Closed Card", 9, 0, Offset{80} << 30, "closed to programs", {}};
  if (fault_is("none usable")) return {{old, closed}, 13000, {}};
  return {{old, fine, closed}, 13000, {}};
}

/// Fails in the second half-step, with an exception made in the plug-in.
class FailingSolver final : public AlsSolver {
 public:
  explicit FailingSolver(std::unique_ptr<AlsSolver> cpu) : cpu_(std::move(cpu)) {}
  double solve(Side side, const RunControl& control) override {
    if (side == Side::kItems) throw Error(ErrorKind::kNumerical, "a pivot fell over");
    return cpu_->solve(side, control);
  }
  const Factors& factors() override { return cpu_->factors(); }
  Factors take_factors() override { return cpu_->take_factors(); }

 private:
  std::unique_ptr<AlsSolver> cpu_;
};

std::vector<AlsTuning> als_variants(const CudaCard&, const AlsWork& work) {
  return {{(work.width + 15) / 16 * 16, 0, 0, 4096}};
}

std::unique_ptr<AlsSolver> make_als_solver(std::span<const int> devices, const CsrView& by_user,
                                           const AlsParams& params, Factors start,
                                           int completed_iterations, const AlsTuning&) {
  if (devices.size() != 1 || devices[0] != 1) throw std::logic_error("the wrong card was asked");
  if (fault_is("refusal")) throw Error(ErrorKind::kInvalidArgument, "factors: not in this test");
  auto cpu = make_cpu_als_solver(by_user, params, std::move(start), completed_iterations);
  if (fault_is("training")) return std::make_unique<FailingSolver>(std::move(cpu));
  return cpu;
}

std::unique_ptr<NeighbourSearch> make_neighbour_search(int device,
                                                       const SimilarityProblem& problem) {
  if (device != 1) throw std::logic_error("the wrong card was asked");
  return make_cpu_neighbour_search(problem);
}

}  // namespace
}  // namespace likewise

const likewise::CudaPlugin* likewise_cuda_plugin() {
  using namespace likewise;
  static CudaPlugin plugin;
  plugin = {kPluginInterface, kVersion,        kPluginCompiler,      find_cards,
            als_variants,     make_als_solver, make_neighbour_search};
  if (fault_is("interface")) plugin.interface_number = kPluginInterface + 1;
  if (fault_is("version")) plugin.version = "0.0.9";
  if (fault_is("compiler")) plugin.compiler = "another compiler";
  return &plugin;
}
