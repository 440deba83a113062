// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/bpr_work.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "algorithms/bpr/popularity.h"
#include "backends/cuda/host/sgd_work.h"
#include "core/random.h"
#include "likewise/error.h"
#include "likewise/matrix.h"

namespace likewise {

std::vector<BprTask> bpr_tasks(const CsrView& likes) {
  std::vector<BprTask> tasks;
  for (Index user = 0; user < likes.rows; ++user) {
    for (Offset begin = likes.offsets[user]; begin < likes.offsets[user + 1]; begin += kBprTask) {
      const Offset left = likes.offsets[user + 1] - begin;
      tasks.push_back({begin, user, static_cast<Index>(std::min<Offset>(kBprTask, left))});
    }
  }
  return tasks;
}

TurnOrder::TurnOrder(Index tasks, CounterRandom& random)
    : count(static_cast<std::uint64_t>(tasks)),
      stride(1 + random.below(count)),
      shift(random.below(count)) {
  while (std::gcd(stride, count) != 1) ++stride;
}

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
       (shape.users + shape.interactions / kBprTask) * Offset{sizeof(BprTask) + sizeof(double)}},
      {"factors and biases", rows * row},
  };
  for (const MemoryPlan::Part& part : plan.parts) plan.total += part.bytes;
  plan.machine = rows * Offset{padded_stride(params.factors)} * Offset{sizeof(float)};
  if (plan.total <= available) return plan;
  throw Error(ErrorKind::kOutOfMemory,
              fmt::format("the GPU has too little memory for this training:\n{}\n"
                          "use fewer factors, {}, or the cpu",
                          describe(plan), mention("precision", "fp16")));
}

}  // namespace likewise
