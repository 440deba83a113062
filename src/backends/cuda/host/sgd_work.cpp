// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/sgd_work.h"

#include <algorithm>

#include <fmt/format.h>
#include <tbb/parallel_sort.h>

#include "core/random.h"
#include "core/system/parallel.h"
#include "likewise/error.h"
#include "likewise/matrix.h"

namespace likewise {
namespace {

/// As many groups fill the largest GPUs.
constexpr Index kMostStripes = 1024;
/// Rows of a stripe at least: fewer would leave most blocks empty.
constexpr Index kFewestRows = 8;
/// Entries of a launch at least: no row and hardly a block has more.
constexpr Offset kLeastPortion = Offset{1} << 20;

/// Tasks in the order of their entries, which lie one after the other, are cut into launches; a new
/// one begins where `starts_turn` says so, too.
template <class StartsTurn>
void cut_into_launches(GpuSgdWork& work, Offset portion, const StartsTurn& starts_turn) {
  Offset place = 0;
  for (std::size_t at = 0; at < work.tasks.size(); ++at) {
    const SgdTask& task = work.tasks[at];
    const auto number = static_cast<Index>(at);
    if (work.launches.empty() || starts_turn(number) ||
        task.end - work.launches.back().first_entry > portion) {
      work.launches.push_back({number, number, task.begin, task.begin, place});
    }
    work.launches.back().end_task = number + 1;
    work.launches.back().end_entry = task.end;
    place += task.end - task.begin;
  }
  parallel_for(std::ssize(work.launches), 1, [&](Offset at) {
    const SgdLaunch& launch = work.launches[static_cast<std::size_t>(at)];
    tbb::parallel_sort(work.tasks.begin() + launch.first_task, work.tasks.begin() + launch.end_task,
                       [](const SgdTask& a, const SgdTask& b) {
                         const Offset more = (a.end - a.begin) - (b.end - b.begin);
                         return more != 0 ? more > 0 : a.begin < b.begin;
                       });
  });
}

[[nodiscard]] MemoryPlan memory_of(const GpuSgdShare& share, const SgdParams& params,
                                   int number_bytes, Offset ratings) {
  const Offset rows = Offset{share.users} + share.items;
  const Offset row =
      Offset{gpu_sgd_columns(params.factors)} * number_bytes + Offset{4 * sizeof(float)};
  MemoryPlan plan;
  plan.parts = {
      {"ratings in their order", ratings * Offset{sizeof(SgdEntry)}},
      {"tasks and their losses", share.tasks * Offset{sizeof(SgdTask) + sizeof(double)}},
      {"factors, biases and sums of squares", (rows + share.pieces) * row},
      {"regularization of the rows", rows * Offset{sizeof(float) + sizeof(double)}},
  };
  for (const MemoryPlan::Part& part : plan.parts) plan.total += part.bytes;
  plan.machine = share.ratings * Offset{sizeof(SgdEntry)} + share.tasks * Offset{sizeof(SgdTask)} +
                 rows * Offset{padded_stride(params.factors)} * Offset{sizeof(float)};
  return plan;
}

[[nodiscard]] bool is_alternating(const SgdParams& params) {
  return params.order == SgdOrder::kAlternating;
}

}  // namespace

Index gpu_sgd_stripes(const SgdShape& shape) {
  return std::clamp(std::min(shape.users, shape.items) / kFewestRows, 1, kMostStripes);
}

GpuSgdWork work_by_block(const SgdGrid& grid, const SgdSpan& users, Offset portion) {
  GpuSgdWork work;
  const Index own = users.end - users.first;
  work.tasks.reserve(static_cast<std::size_t>(own) * static_cast<std::size_t>(grid.stripes));
  std::vector<Offset> places{0};
  Offset number = 0;
  for (Index turn = 0; turn < grid.stripes; ++turn) {
    for (Index p = 0; p < grid.stripes; ++p) {
      const Offset begin = number;
      number += std::ssize(grid.block(p, grid.item_stripe(p, turn)));
      if (p < users.first || p >= users.end) continue;
      work.tasks.push_back({begin, number});
      places.push_back(places.back() + number - begin);
    }
  }
  work.entries = Array<SgdEntry>::uninitialized(places.back());
  parallel_for(std::ssize(work.tasks), 64, [&](Offset at) {
    const auto turn = static_cast<Index>(at / own);
    const auto p = users.first + static_cast<Index>(at % own);
    std::ranges::copy(grid.block(p, grid.item_stripe(p, turn)),
                      work.entries.data() + places[static_cast<std::size_t>(at)]);
  });
  cut_into_launches(work, portion, [&](Index task) { return task % own == 0; });
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

GpuSgdWork work_by_line(const SgdRowEntries& rows, const SgdSpan& own, Offset portion) {
  // Further pieces are in the order of their rows.
  const auto piece_of = [&](Index row) {
    const auto first = std::ranges::lower_bound(rows.piece_of, row) - rows.piece_of.begin();
    return rows.rows() + static_cast<Index>(first);
  };
  GpuSgdWork work;
  std::vector<Offset> from;
  Offset end = 0;
  for (const SgdSpan& lines : {own, SgdSpan{piece_of(own.first), piece_of(own.end)}}) {
    for (Index line = lines.first; line < lines.end; ++line) {
      from.push_back(rows.begin[static_cast<std::size_t>(line)]);
      work.tasks.push_back({end, end + rows.size(line)});
      end += rows.size(line);
    }
  }
  work.entries = Array<SgdEntry>::uninitialized(end);
  parallel_for(std::ssize(work.tasks), 64, [&](Offset at) {
    const SgdTask& task = work.tasks[static_cast<std::size_t>(at)];
    std::copy_n(rows.entries.data() + from[static_cast<std::size_t>(at)], task.end - task.begin,
                work.entries.data() + task.begin);
  });
  cut_into_launches(work, portion, [](Index) { return false; });
  return work;
}

GpuSgdShare even_sgd_share(const SgdShape& shape, const SgdParams& params, int gpus) {
  const auto part = [&](auto whole) { return (whole + gpus - 1) / gpus; };
  if (params.order == SgdOrder::kBlocked) {
    const Offset stripes = gpu_sgd_stripes(shape);
    return {part(shape.users), shape.items, part(shape.interactions), part(stripes) * stripes, 0};
  }
  const Offset pieces = 2 * (shape.interactions / kSgdPiece);  // more than there will be
  const Offset copies = is_alternating(params) ? 2 : 1;
  return {shape.users, shape.items, copies * part(shape.interactions),
          part(Offset{shape.users} + shape.items + pieces), pieces};
}

GpuSgdPlan plan_gpu_sgd(const GpuSgdShare& share, const SgdParams& params, int number_bytes,
                        Offset available) {
  GpuSgdPlan plan;
  plan.portion = std::max<Offset>(1, share.ratings);
  plan.memory = memory_of(share, params, number_bytes, share.ratings);
  plan.memory.placement = "everything on the GPU";
  plan.memory.available = available;
  if (plan.memory.total <= available) return plan;
  plan.streamed = true;
  const Offset fixed = memory_of(share, params, number_bytes, 0).total;
  // Two portions: one is taken while the next one comes.
  const Offset room = (available - fixed) / (2 * Offset{sizeof(SgdEntry)});
  const Offset most = share.ratings / (is_alternating(params) ? 2 : 1);  // of a launch
  plan.portion = std::clamp(room, kLeastPortion, std::max(kLeastPortion, most));
  plan.memory = memory_of(share, params, number_bytes, 2 * plan.portion);
  plan.memory.placement = "ratings streamed from the machine's memory";
  plan.memory.available = available;
  if (plan.memory.total <= available) return plan;
  throw Error(
      ErrorKind::kOutOfMemory,
      fmt::format("the GPU has too little memory for this training, even with {}:\n{}\n"
                  "use fewer factors, {}, or the cpu",
                  plan.memory.placement, describe(plan.memory), mention("precision", "fp16")));
}

}  // namespace likewise
