// SPDX-License-Identifier: Apache-2.0
/// On what `auto` trains, by data and hardware: a row of a Markdown table for each shape and
/// algorithm, for machines of 2, 16 and 64 cores with one H100, and for one with two that are
/// linked. No GPU is needed, as the choice is made by models of cost
/// (src/backends/cuda/host/gpu_or_cpu.h and several_gpus.h).
///
///     bench_choice SHAPE...
#include <string>

#include <fmt/format.h>

#include "algorithms/cost.h"
#include "backends/cuda/host/als_tuning.h"
#include "backends/cuda/host/gpu_or_cpu.h"
#include "backends/cuda/host/several_gpus.h"
#include "likewise/likewise.h"
#include "program.h"

namespace likewise {
namespace {

constexpr int kFactors = 64;

[[nodiscard]] GpuInfo h100() {
  return {"NVIDIA H100 80GB HBM3", 9,  0,
          Offset{80} << 30,        {}, {132, 1.98e9, 3.35e12, 50 << 20, 228 << 10, 227 << 10}};
}

void print_row(const std::string& shape, const std::string& training, double core_seconds,
               double saved) {
  fmt::print("| {} | {} | {:.1f} ", shape, training, core_seconds);
  for (const int cores : {2, 16, 64}) {
    with_threads(cores, [&] { fmt::print("| {} ", gpu_pays(core_seconds) ? "GPU" : "CPU"); });
  }
  const double start = seconds_to_train_together(2);
  fmt::print("| {} | {:.2f} | {:.2f} |\n", saved < start ? "one" : "both", saved, start);
}

void print_rows(const std::string& name) {
  const SyntheticShape shape = parse_shape(name);
  AlsParams als = AlsParams::defaults(Feedback::kImplicit);
  als.factors = kFactors;
  const AlsTuning tuning{kFactors, 0, 0, 4096};
  const auto rows = static_cast<double>(shape.users) + static_cast<double>(shape.items);
  const auto entries = static_cast<double>(shape.nnz);
  print_row(
      name, fmt::format("als, implicit, {} iterations", als.iterations),
      als.iterations * als_seconds(rows, entries, kFactors),
      seconds_saved(AlsShape{shape.users, shape.items, shape.nnz}, als, tuning, h100(), 2, true));
  SgdParams sgd;
  sgd.factors = kFactors;
  sgd.order = SgdOrder::kAlternating;
  print_row(name, fmt::format("sgd, alternating, {} epochs", sgd.iterations),
            sgd.iterations * sgd_seconds(entries, kFactors),
            seconds_saved(SgdShape{shape.users, shape.items, shape.nnz}, sgd, h100(), 2, true));
}

int run(const std::vector<std::string>& shapes) {
  fmt::print(
      "| data | training, 64 factors | a core's seconds | 2 cores | 16 | 64 | of two GPUs | two "
      "save, s | their start, s |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& shape : shapes) print_rows(shape);
  return 0;
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) { return likewise::run_program(argc, argv, likewise::run); }
