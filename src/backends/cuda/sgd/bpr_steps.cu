// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cuda/device/check.h"
#include "backends/cuda/sgd/bpr_steps.h"
#include "backends/cuda/sgd/team.cuh"

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

template <class T, int kLanes, int kVectors>
__global__ void __launch_bounds__(kTeamBlock) take_steps(const BprSteps steps) {
  using Rows = Team<T, kLanes, kVectors>;
  constexpr int kNumbers = Rows::kNumbers;
  const Rows team(steps.columns);
  const Index first =
      static_cast<Index>(blockIdx.x) * Rows::kTeams + static_cast<Index>(threadIdx.x) / kLanes;
  const Index teams = static_cast<Index>(gridDim.x) * Rows::kTeams;
  const float keep = 1.0F - steps.rate * steps.lambda;
  for (Index task = first; task < steps.count; task += teams) {
    const Index user = steps.order[task];
    const Offset begin = steps.offsets[user];
    const Offset end = steps.offsets[user + 1];
    double loss = 0.0;
    float x[kNumbers];
    Rows::open(team.template load<false>(steps.users.rows, user), x);
    for (Offset batch = begin; batch < end; batch += kLanes) {
      // Each lane finds the pair of a like of its own.
      const Offset own = batch + team.lane();
      Index own_positive = -1;
      Index own_negative = -1;
      if (own < end) {
        own_positive = steps.likes[own];
        own_negative = draw_negative(steps, user, own);
      }
      const int count = static_cast<int>(min(static_cast<Offset>(kLanes), end - batch));
      for (int at = 0; at < count; ++at) {
        const Index i = team.of_lane(own_positive, at);
        const Index j = team.of_lane(own_negative, at);
        if (j < 0) continue;
        float yi[kNumbers];
        float yj[kNumbers];
        Rows::open(team.template load<false>(steps.items.rows, i), yi);
        Rows::open(team.template load<false>(steps.items.rows, j), yj);
        float* const bias_i = &steps.items.numbers[i].bias;
        float* const bias_j = &steps.items.numbers[j].bias;
        const float old_i = __ldcg(bias_i);
        const float old_j = __ldcg(bias_j);
        float apart[kNumbers];
#pragma unroll
        for (int n = 0; n < kNumbers; ++n) apart[n] = yi[n] - yj[n];
        const float margin = team.dot(x, apart) + old_i - old_j;
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
            random_of(~steps.random, static_cast<std::uint64_t>(batch + at) * 32U +
                                         static_cast<std::uint64_t>(team.lane())));
        // Every lane knows both biases: they are read before any lane writes.
        team.synchronize();
        if (steps.changes == nullptr || steps.changes[i] != 0) {
          team.put(Rows::round_at_random(yi, random), steps.items.rows, i);
          if (steps.biased && team.lane() == 0) {
            *bias_i = old_i + steps.rate * (wrong - steps.lambda * old_i);
          }
        }
        if (steps.changes == nullptr || steps.changes[j] != 0) {
          team.put(Rows::round_at_random(yj, ~random), steps.items.rows, j);
          if (steps.biased && team.lane() == 0) {
            *bias_j = old_j - steps.rate * (wrong + steps.lambda * old_j);
          }
        }
        team.synchronize();
      }
    }
    team.put(Rows::round(x), steps.users.rows, user);
    if (team.lane() == 0) steps.losses[task] = loss;
  }
}

template <class T>
void launch(const BprSteps& steps, cudaStream_t stream) {
  with_team_of(steps.columns, [&](auto lanes, auto vectors) {
    constexpr int kLanes = decltype(lanes)::value;
    constexpr Index kTeams = kTeamBlock / kLanes;
    const auto kernel = take_steps<T, kLanes, decltype(vectors)::value>;
    const Index teams = std::min(steps.teams, steps.count);
    kernel<<<static_cast<unsigned>((teams + kTeams - 1) / kTeams), kTeamBlock, 0, stream>>>(steps);
    LIKEWISE_CUDA_CHECK_LAUNCH();
  });
}

}  // namespace

void take_bpr_steps(bool halves, const BprSteps& steps, cudaStream_t stream) {
  if (steps.count == 0) return;
  halves ? launch<__half>(steps, stream) : launch<float>(steps, stream);
}

}  // namespace likewise::cuda
