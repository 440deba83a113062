// SPDX-License-Identifier: Apache-2.0
/// On what `auto` trains, by data and hardware: a row of a Markdown table for each shape and
/// algorithm, for a machine without a GPU, with one H100 and with two that are linked. No GPU is
/// needed, as the choice is made by models of cost (src/backends/cuda/host/several_gpus.h).
///
///     bench_choice SHAPE...
#include <string>

#include <fmt/format.h>

#include "backends/cuda/host/als_tuning.h"
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

void print_row(const std::string& shape, const std::string& training, int iterations,
               double saved) {
  const double start = seconds_to_train_together(2);
  fmt::print("| {} | {} | {} | cpu | cuda:0 | {} | {:.2f} | {:.2f} |\n", shape, training,
             iterations, saved < start ? "one of them" : "both", saved, start);
}

void print_rows(const std::string& name) {
  const SyntheticShape shape = parse_shape(name);
  AlsParams als = AlsParams::defaults(Feedback::kImplicit);
  als.factors = kFactors;
  const AlsTuning tuning{kFactors, 0, 0, 4096};
  print_row(
      name, "als, implicit", als.iterations,
      seconds_saved(AlsShape{shape.users, shape.items, shape.nnz}, als, tuning, h100(), 2, true));
  SgdParams sgd;
  sgd.factors = kFactors;
  sgd.order = SgdOrder::kAlternating;
  print_row(name, "sgd, alternating", sgd.iterations,
            seconds_saved(SgdShape{shape.users, shape.items, shape.nnz}, sgd, h100(), 2, true));
}

int run(const std::vector<std::string>& shapes) {
  fmt::print(
      "| data | training, 64 factors | iterations | no GPU | one | two | two save, s | their "
      "start, "
      "s |\n|---|---|---|---|---|---|---|---|\n");
  for (const std::string& shape : shapes) print_rows(shape);
  return 0;
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) { return likewise::run_program(argc, argv, likewise::run); }
