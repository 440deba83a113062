// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/bpr_plan.h"

#include <fmt/format.h>

#include "algorithms/bpr/popularity.h"
#include "backends/gpu/sgd_work.h"
#include "likewise/error.h"
#include "likewise/matrix.h"

namespace likewise {

MemoryPlan plan_gpu_bpr(const SgdShape& shape, const BprParams& params, int number_bytes,
                        Offset available) {
  const Offset rows = Offset{shape.users} + shape.items;
  const Offset row =
      Offset{gpu_sgd_columns(params.factors)} * number_bytes + Offset{4 * sizeof(float)};
  MemoryPlan plan;
  plan.placement = "everything on the GPU";
  plan.available = available;
  plan.parts = {
      {"likes by user", shape.interactions * Offset{sizeof(Index)}},
      {"popularity of items", shape.items * Offset{sizeof(PopularItems::Place)}},
      {"tasks and their losses",
       shape.users * Offset{sizeof(Offset) + sizeof(Index) + sizeof(double)}},
      {"factors and biases", rows * row},
  };
  for (const MemoryPlan::Part& part : plan.parts) plan.total += part.bytes;
  plan.machine = rows * Offset{padded_stride(params.factors)} * Offset{sizeof(float)};
  if (plan.total <= available) return plan;
  throw Error(ErrorKind::kOutOfMemory,
              fmt::format("the GPU has too little memory for this training:\n{}\n"
                          "use fewer factors, --precision fp16, or the cpu",
                          describe(plan)));
}

}  // namespace likewise
