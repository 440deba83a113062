// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cuda/bpr/bpr_steps.h"
#include "backends/cuda/device/check.h"
#include "backends/cuda/sgd/thread_group.cuh"

namespace likewise::cuda {
namespace {

/// splitmix64: a number for every counter.
__device__ __forceinline__ std::uint64_t random_of(std::uint64_t seed, std::uint64_t counter) {
  std::uint64_t x = seed + 0x9e3779b97f4a7c15ULL * (counter + 1);
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

__device__ __forceinline__ bool is_known(const BprSteps& steps, Index user, Index item) {
  Offset begin = steps.known_offsets[user];
  Offset end = steps.known_offsets[user + 1];
  while (begin < end) {
    const Offset middle = (begin + end) / 2;
    const Index found = __ldg(steps.known + middle);
    if (found == item) return true;
    found < item ? begin = middle + 1 : end = middle;
  }
  return false;
}

/// An item that the user does not like; -1 where none was found.
__device__ __forceinline__ Index draw_negative(const BprSteps& steps, Index user, Offset like) {
  for (int attempt = 0; attempt < steps.tries; ++attempt) {
    const std::uint64_t random = random_of(
        steps.random, static_cast<std::uint64_t>(like) * 32U + static_cast<std::uint64_t>(attempt));
    auto item =
        static_cast<Index>(__umul64hi(random, static_cast<std::uint64_t>(steps.item_count)));
    if (steps.popular != nullptr) {
      const PopularItems::Place place = steps.popular[item];
      if (static_cast<std::uint32_t>(random) >= place.own) item = place.alias;
    }
    if (!is_known(steps, user, item)) return item;
  }
  return -1;
}

/// An item's row and bias, as they were read.
template <class Rows>
struct ItemRow {
  Index item = -1;
  typename Rows::Stored stored;
  float bias = 0.0F;

  /// Another group may write it.
  __device__ __forceinline__ void read(const Rows& group, const SgdTable& items, Index from) {
    item = from;
    if (from < 0) return;
    stored = group.template load<false>(items.rows, from);
    bias = __ldcg(&items.numbers[from].bias);
  }
  /// Adds a change: nothing that others add meanwhile is lost.
  __device__ __forceinline__ void move_to(const Rows& group, const BprSteps& steps,
                                          const float (&y)[Rows::kNumbers], std::uint32_t random,
                                          float bias_change) {
    if (steps.changes != nullptr && steps.changes[item] == 0) return;
    const typename Rows::Stored moved = Rows::round_at_random(y, random);
    group.add(moved, stored, steps.items.rows, item);
    stored = moved;
    if (!steps.biased) return;
    if (group.lane() == 0) atomicAdd(&steps.items.numbers[item].bias, bias_change);
    bias += bias_change;
  }
};

template <class T, int kLanes, int kVectors>
__global__ void __launch_bounds__(kGroupBlock) take_steps(const BprSteps steps) {
  using Rows = ThreadGroup<T, kLanes, kVectors>;
  constexpr int kNumbers = Rows::kNumbers;
  const Rows group(steps.columns);
  const float keep = 1.0F - steps.rate * steps.lambda;
  group.each_task(steps.count, nullptr, [&](Index turn) {
    const Index at_turn = steps.order.at(turn);
    const auto [begin, user, count] = steps.tasks[at_turn];
    double loss = 0.0;
    float x[kNumbers];
    const auto stored_x = group.template load<false>(steps.users.rows, user);
    Rows::open(stored_x, x);
    for (int batch = 0; batch < count; batch += kLanes) {
      // Each lane finds the pair of a like of its own.
      Index own_positive = -1;
      Index own_negative = -1;
      if (batch + group.lane() < count) {
        const Offset like = begin + batch + group.lane();
        own_positive = steps.likes[like];
        own_negative = draw_negative(steps, user, like);
      }
      const int last = min(kLanes, count - batch);
      ItemRow<Rows> next_i;
      ItemRow<Rows> next_j;
      next_i.read(group, steps.items, group.of_lane(own_positive, 0));
      next_j.read(group, steps.items, group.of_lane(own_negative, 0));
      for (int at = 0; at < last; ++at) {
        ItemRow<Rows> i = next_i;
        ItemRow<Rows> j = next_j;
        // The next rows are on their way while this step is taken.
        if (at + 1 < last) {
          next_i.read(group, steps.items, group.of_lane(own_positive, at + 1));
          next_j.read(group, steps.items, group.of_lane(own_negative, at + 1));
        }
        if (j.item < 0) continue;
        float yi[kNumbers];
        float yj[kNumbers];
        Rows::open(i.stored, yi);
        Rows::open(j.stored, yj);
        float apart[kNumbers];
#pragma unroll
        for (int n = 0; n < kNumbers; ++n) apart[n] = yi[n] - yj[n];
        const float margin = group.dot(x, apart) + i.bias - j.bias;
        const float lower = expf(-fabsf(margin));  // never overflows
        const float wrong = (margin > 0.0F ? lower : 1.0F) / (1.0F + lower);
        loss += double{log1pf(lower)} + double{fmaxf(-margin, 0.0F)};
        const float take = steps.rate * wrong;
#pragma unroll
        for (int n = 0; n < kNumbers; ++n) {
          yi[n] = fmaf(take, x[n], keep * yi[n]);
          yj[n] = fmaf(-take, x[n], keep * yj[n]);
          x[n] = fmaf(take, apart[n], keep * x[n]);
        }
        const auto random = static_cast<std::uint32_t>(
            random_of(~steps.random, static_cast<std::uint64_t>(begin + batch + at) * 32U +
                                         static_cast<std::uint64_t>(group.lane())));
        i.move_to(group, steps, yi, random, steps.rate * (wrong - steps.lambda * i.bias));
        j.move_to(group, steps, yj, ~random, -steps.rate * (wrong + steps.lambda * j.bias));
        if (next_j.item == j.item) next_j = j;  // no other row of the next pair is one of this
      }
    }
    // Other tasks may move the same user.
    const auto random = static_cast<std::uint32_t>(random_of(
        ~steps.random,
        ~(static_cast<std::uint64_t>(begin) * 32U + static_cast<std::uint64_t>(group.lane()))));
    group.add(Rows::round_at_random(x, random), stored_x, steps.users.rows, user);
    if (group.lane() == 0) steps.losses[at_turn] = loss;
  });
}

template <class T>
void launch(const BprSteps& steps, cudaStream_t stream) {
  with_group_of(steps.columns, [&](auto lanes, auto vectors) {
    constexpr int kLanes = decltype(lanes)::value;
    const auto kernel = take_steps<T, kLanes, decltype(vectors)::value>;
    GroupGrid grid(std::min(steps.groups, steps.count), kLanes);
    grid.limit(kernel);
    kernel<<<grid.blocks, grid.threads, 0, stream>>>(steps);
    LIKEWISE_CUDA_CHECK_LAUNCH();
  });
}

}  // namespace

void take_bpr_steps(bool halves, const BprSteps& steps, cudaStream_t stream) {
  if (steps.count == 0) return;
  halves ? launch<__half>(steps, stream) : launch<float>(steps, stream);
}

}  // namespace likewise::cuda
