// SPDX-License-Identifier: Apache-2.0
#include "backends/jobs/host_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "algorithms/als/weights.h"
#include "algorithms/cost.h"
#include "algorithms/ease/ease_scales.h"
#include "algorithms/sgd/grid.h"
#include "algorithms/spectral/krylov.h"
#include "core/system/memory.h"
#include "likewise/error.h"
#include "likewise/matrix.h"

namespace likewise {

namespace {

[[noreturn]] void refuse_precision(std::string_view device) {
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("precision: the {} backend trains in fp32; use auto or fp32", device));
}

}  // namespace

void require_fp32(const AlsParams& params, std::string_view device) {
  if (params.precision == Precision::kAuto || params.precision == Precision::kFp32) return;
  refuse_precision(device);
}

void require_fp32(SgdPrecision precision, std::string_view device) {
  if (precision == SgdPrecision::kFp16) refuse_precision(device);
}

std::vector<MemoryPlan::Part> common_parts(const AlsShape& shape, const AlsParams& params) {
  const Offset rows = Offset{shape.users} + shape.items;
  const bool biased = als_width(params) > params.factors;
  constexpr Offset kFloat = sizeof(float);
  return {{"interactions by item", shape.interactions * Offset{sizeof(Index) + sizeof(float)}},
          {"factors", rows * (padded_stride(params.factors) + (biased ? 1 : 0)) * kFloat}};
}

MemoryPlan sgd_plan(const SgdShape& shape, const SgdParams& params, Offset number_bytes) {
  const Offset rows = Offset{shape.users} + shape.items;
  const Offset copies = params.order == SgdOrder::kAlternating ? 2 : 1;
  constexpr Offset kNumbers = 4;  // bias, sum of squares, two decays
  const Offset row = padded_stride(params.factors) + kNumbers;
  return checked_plan(
      {shape.users, shape.items, shape.interactions},
      {{"ratings in their order", copies * shape.interactions * Offset{sizeof(SgdEntry)}},
       {"factors", rows * row * Offset{sizeof(float)}},
       {"factors in the order of the ratings", rows * row * number_bytes}});
}

MemoryPlan bpr_plan(const SgdShape& shape, const BprParams& params, Offset number_bytes) {
  const Offset rows = Offset{shape.users} + shape.items;
  const Offset row = padded_stride(params.factors) + 1;
  const bool popular = params.negatives == BprNegatives::kPopular;
  return checked_plan(
      {shape.users, shape.items, shape.interactions},
      {{"likes by user", shape.interactions * Offset{sizeof(Index) + sizeof(float)}},
       {"likes in their order", shape.interactions * Offset{sizeof(SgdEntry)}},
       {"items to draw from", popular ? Offset{shape.items} * Offset{8} : 0},
       {"factors", rows * row * Offset{sizeof(float)}},
       {"factors in the order of the likes", rows * row * number_bytes}});
}

MemoryPlan ease_plan(const EaseShape& shape, Offset number_bytes) {
  const AlsShape whole{shape.users, shape.items, shape.interactions};
  const Offset entry = sizeof(Index) + sizeof(float);
  MemoryPlan::Part by_item{"interactions by item and by user", 2 * shape.interactions * entry};
  const Offset items = shape.items;
  if (shape.candidates == 0) {
    return checked_plan(whole, {std::move(by_item),
                                {"weights of all pairs of items (form dense)",
                                 items * padded_stride(shape.items) * number_bytes}});
  }
  const Offset most = std::min<Offset>(shape.candidates, items);
  constexpr Offset kCopies = 4;  // candidates, their lists while they grow, weights, and packed
  return checked_plan(
      whole,
      {std::move(by_item),
       {"lists of candidates and of weights", kCopies * items * most * entry},
       {"systems at a time",
        std::min(kEaseBatchNumbers, items * (most + 1) * padded_stride(static_cast<Index>(most))) *
            Offset{sizeof(float)}}});
}

double spectral_core_seconds(const SpectralShape& shape) {
  // The basis is multiplied by the matrix twice, and made orthogonal to itself.
  const double width = 3.0 * shape.factors;
  return (2.0 * static_cast<double>(shape.interactions) * width) / kSharedRate +
         (static_cast<double>(shape.users) + 2.0 * shape.items) * width * width / kDenseRate +
         10.0 * width * width * width / kDenseRate;
}

MemoryPlan spectral_plan(const SpectralShape& shape, Offset basis) {
  constexpr Offset kFloat = sizeof(float);
  const Offset rows = Offset{shape.users} + shape.items;
  const Offset block = KrylovWidths(shape.items, shape.factors).block;
  return checked_plan({shape.users, shape.items, shape.interactions},
                      {{"interactions, normalised, by user and by item",
                        2 * shape.interactions * Offset{sizeof(Index) + sizeof(float)}},
                       {"factors", rows * padded_stride(shape.factors) * kFloat},
                       {"basis", shape.items * basis * kFloat},
                       {"blocks of users and items", (rows + shape.items) * block * kFloat},
                       {"its eigenvectors", 3 * basis * basis * Offset{sizeof(double)}}});
}

MemoryPlan checked_plan(const AlsShape& shape, std::vector<MemoryPlan::Part> parts) {
  MemoryPlan plan;
  plan.placement = "everything in the machine's memory";
  plan.parts = std::move(parts);
  for (const MemoryPlan::Part& part : plan.parts) plan.total += part.bytes;
  plan.available = static_cast<Offset>(
      std::min<std::uint64_t>(available_memory(), std::numeric_limits<Offset>::max()));
  check_memory_plan(fmt::format("training on {} users x {} items, {} interactions", shape.users,
                                shape.items, shape.interactions),
                    static_cast<double>(plan.total));
  return plan;
}

}  // namespace likewise
