// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/sgd_work.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/parallel.h"
#include "core/random.h"
#include "likewise/error.h"

namespace likewise {
namespace {

/// As many teams fill the largest GPUs.
constexpr Index kMostStripes = 1024;
/// Rows of a stripe at least: fewer would leave most blocks empty.
constexpr Index kFewestRows = 8;
/// Entries of a launch at least: no row and hardly a block has more.
constexpr Offset kLeastPortion = Offset{1} << 20;

/// Tasks in the order of their entries are cut into launches; a new one begins where `starts_turn`
/// says so, too.
template <class StartsTurn>
void cut_into_launches(GpuSgdWork& work, Offset portion, const StartsTurn& starts_turn) {
  for (std::size_t at = 0; at < work.tasks.size(); ++at) {
    const SgdTask& task = work.tasks[at];
    const auto number = static_cast<Index>(at);
    if (work.launches.empty() || starts_turn(number) ||
        task.end - work.launches.back().first_entry > portion) {
      work.launches.push_back({number, number, task.begin, task.begin});
    }
    work.launches.back().end_task = number + 1;
    work.launches.back().end_entry = task.end;
  }
  parallel_for(std::ssize(work.launches), 1, [&](Offset at) {
    const SgdLaunch& launch = work.launches[static_cast<std::size_t>(at)];
    std::stable_sort(
        work.tasks.begin() + launch.first_task, work.tasks.begin() + launch.end_task,
        [](const SgdTask& a, const SgdTask& b) { return a.end - a.begin > b.end - b.begin; });
  });
}

[[nodiscard]] MemoryPlan memory_of(const SgdShape& shape, const SgdParams& params, int number_bytes,
                                   Offset ratings) {
  const Offset rows = Offset{shape.users} + shape.items;
  const bool lines = params.order != SgdOrder::kBlocked;
  const Offset pieces = lines ? shape.interactions / kSgdPiece : 0;  // more than there will be
  const Offset stripes = gpu_sgd_stripes(shape);
  const Offset tasks = lines ? rows + 2 * pieces : stripes * stripes;
  const Offset row =
      Offset{gpu_sgd_columns(params.factors)} * number_bytes + Offset{4 * sizeof(float)};
  MemoryPlan plan;
  plan.parts = {
      {"ratings in their order", ratings * Offset{sizeof(SgdEntry)}},
      {"tasks and their losses", tasks * Offset{sizeof(SgdTask) + sizeof(double)}},
      {"factors, biases and sums of squares", (rows + 2 * pieces) * row},
      {"regularization of the rows", rows * Offset{sizeof(float) + sizeof(double)}},
  };
  for (const MemoryPlan::Part& part : plan.parts) plan.total += part.bytes;
  const Offset copies = params.order == SgdOrder::kAlternating ? 2 : 1;
  plan.machine = copies * shape.interactions * Offset{sizeof(SgdEntry)} +
                 tasks * Offset{sizeof(SgdTask)} +
                 rows * Offset{padded_stride(params.factors)} * Offset{sizeof(float)};
  return plan;
}

}  // namespace

Index gpu_sgd_stripes(const SgdShape& shape) {
  return std::clamp(std::min(shape.users, shape.items) / kFewestRows, 1, kMostStripes);
}

GpuSgdWork work_by_block(const SgdGrid& grid, Offset portion) {
  GpuSgdWork work;
  const auto stripes = static_cast<std::size_t>(grid.stripes);
  work.tasks.reserve(stripes * stripes);
  Offset end = 0;
  for (Index turn = 0; turn < grid.stripes; ++turn) {
    for (Index p = 0; p < grid.stripes; ++p) {
      const Offset begin = end;
      end += std::ssize(grid.block(p, grid.item_stripe(p, turn)));
      work.tasks.push_back({begin, end});
    }
  }
  work.entries = Array<SgdEntry>::uninitialized(end);
  parallel_for(std::ssize(work.tasks), 64, [&](Offset at) {
    const auto turn = static_cast<Index>(at / grid.stripes);
    const auto p = static_cast<Index>(at % grid.stripes);
    std::ranges::copy(grid.block(p, grid.item_stripe(p, turn)),
                      work.entries.data() + work.tasks[static_cast<std::size_t>(at)].begin);
  });
  cut_into_launches(work, portion, [&](Index task) { return task % grid.stripes == 0; });
  return work;
}

void turn_lines(SgdRowEntries& rows, std::uint64_t seed) {
  parallel_for(rows.lines(), 256, [&](Offset line) {
    const auto at = static_cast<std::size_t>(line);
    SgdEntry* const first = rows.entries.data() + rows.begin[at];
    SgdEntry* const last = rows.entries.data() + rows.begin[at + 1];
    if (first == last) return;
    CounterRandom random(seed, kStreamSgdTurns, static_cast<std::uint64_t>(line));
    std::rotate(first, first + random.below(static_cast<std::uint64_t>(last - first)), last);
  });
}

GpuSgdWork work_by_line(SgdRowEntries rows, Offset portion) {
  GpuSgdWork work;
  work.entries = std::move(rows.entries);
  work.tasks.reserve(rows.begin.size());
  for (std::size_t line = 0; line + 1 < rows.begin.size(); ++line) {
    work.tasks.push_back({rows.begin[line], rows.begin[line + 1]});
  }
  cut_into_launches(work, portion, [](Index) { return false; });
  return work;
}

GpuSgdPlan plan_gpu_sgd(const SgdShape& shape, const SgdParams& params, int number_bytes,
                        Offset available) {
  const Offset copies = params.order == SgdOrder::kAlternating ? 2 : 1;
  GpuSgdPlan plan;
  plan.portion = std::max<Offset>(1, shape.interactions);
  plan.memory = memory_of(shape, params, number_bytes, copies * shape.interactions);
  plan.memory.placement = "everything on the GPU";
  plan.memory.available = available;
  if (plan.memory.total <= available) return plan;
  plan.streamed = true;
  const Offset fixed = memory_of(shape, params, number_bytes, 0).total;
  // Two portions: one is taken while the next one comes.
  const Offset room = (available - fixed) / (2 * Offset{sizeof(SgdEntry)});
  plan.portion = std::clamp(room, kLeastPortion, std::max(kLeastPortion, shape.interactions));
  plan.memory = memory_of(shape, params, number_bytes, 2 * plan.portion);
  plan.memory.placement = "ratings streamed from the machine's memory";
  plan.memory.available = available;
  if (plan.memory.total <= available) return plan;
  throw Error(ErrorKind::kOutOfMemory,
              fmt::format("the GPU has too little memory for this training, even with {}:\n{}\n"
                          "use fewer factors, --precision fp16, or the cpu",
                          plan.memory.placement, describe(plan.memory)));
}

}  // namespace likewise
