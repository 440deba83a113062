// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cuda/device/check.h"
#include "backends/cuda/sgd/sgd_steps.h"
#include "backends/cuda/sgd/thread_group.cuh"

namespace likewise::cuda {
namespace {

__device__ __forceinline__ SgdRowNumbers load_numbers(const SgdRowNumbers* at, bool fixed) {
  const auto* const four = reinterpret_cast<const float4*>(at);
  const float4 x = fixed ? __ldg(four) : __ldcg(four);
  SgdRowNumbers numbers;
  numbers.bias = x.x, numbers.squares = x.y, numbers.share = x.z, numbers.norm = x.w;
  return numbers;
}

/// All lanes of a group write the same, so that each reads what it wrote.
__device__ __forceinline__ void put_numbers(const SgdRowNumbers& numbers, SgdRowNumbers* at) {
  *reinterpret_cast<float4*>(at) =
      make_float4(numbers.bias, numbers.squares, numbers.share, numbers.norm);
}

/// Adds what `numbers` have more than `before`.
__device__ __forceinline__ void add_numbers(const SgdRowNumbers& numbers,
                                            const SgdRowNumbers& before, SgdRowNumbers* at) {
  add_four(make_float4(numbers.bias - before.bias, numbers.squares - before.squares, 0.0F,
                       numbers.norm - before.norm),
           reinterpret_cast<float*>(at));
}

struct Slope {
  float error;
  float loss;
};
__device__ __forceinline__ Slope slope_of(bool logistic, float value, float score) {
  if (!logistic) {
    const float error = value - score;
    return {error, error * error};
  }
  const float sign = value > 0.0F ? 1.0F : -1.0F;
  const float margin = sign * score;
  const float lower = expf(-fabsf(margin));  // never overflows
  const float wrong = (margin > 0.0F ? lower : 1.0F) / (1.0F + lower);
  return {sign * wrong, 2.0F * (log1pf(lower) + fmaxf(-margin, 0.0F))};
}

/// How one step moves a row: x = keep x + take (the other row).
struct Move {
  float keep;
  float take;

  __device__ __forceinline__ Move(const SgdSteps& steps, const SgdRowNumbers& row, float error,
                                  float step)
      : keep(1.0F - step * steps.rate * steps.lambda * row.share),
        take(step * steps.rate * error) {}
  template <int kNumbers>
  __device__ __forceinline__ void apply(float (&x)[kNumbers],
                                        const float (&other)[kNumbers]) const {
#pragma unroll
    for (int n = 0; n < kNumbers; ++n) x[n] = fmaf(take, other[n], keep * x[n]);
  }
};

template <int kNumbers>
__device__ __forceinline__ void end_at_zero(float (&x)[kNumbers]) {
#pragma unroll
  for (int n = 0; n < kNumbers; ++n) x[n] = fmaxf(x[n], 0.0F);
}

/// Bias, squares and norm after a step of size `step` whose gradient is error y - decay x; `dot` is
/// x . y and `other_norm` |y|^2.
template <bool kAdaptive>
__device__ __forceinline__ SgdRowNumbers moved(const SgdSteps& steps, const SgdRowNumbers& row,
                                               const Move& move, float error, float step, float dot,
                                               float other_norm) {
  SgdRowNumbers next = row;
  next.bias += steps.bias_rate * step * (error - steps.bias_lambda * row.share * row.bias);
  if (kAdaptive) {
    const float decay = steps.lambda * row.share;
    next.squares += steps.square_scale * (error * error * other_norm - 2.0F * decay * error * dot +
                                          decay * decay * row.norm);
  }
  if (kAdaptive || steps.bounded) {
    next.norm = move.keep * move.keep * row.norm + 2.0F * move.keep * move.take * dot +
                move.take * move.take * other_norm;
  }
  return next;
}

/// How far a step of this size takes the score of a row's entry (step_reach).
__device__ __forceinline__ float reach_of(const SgdSteps& steps, const SgdRowNumbers& row,
                                          float step, float other_norm) {
  return step_reach(steps.rate * step, other_norm, steps.lambda * row.share, steps.bias_rate * step,
                    steps.bias_lambda * row.share);
}

/// A number for every entry and lane.
__device__ __forceinline__ std::uint32_t random_of(std::uint32_t seed, Offset entry, int lane) {
  std::uint32_t x =
      (static_cast<std::uint32_t>(entry) * 32U + static_cast<std::uint32_t>(lane)) ^ seed;
  x = (x ^ (x >> 16U)) * 0x7feb352dU;
  x = (x ^ (x >> 15U)) * 0x846ca68bU;
  return x ^ (x >> 16U);
}

template <class T, int kLanes, int kVectors, bool kAdaptive, bool kMovesOther>
__global__ void __launch_bounds__(kGroupBlock) take_steps(const SgdSteps steps) {
  using Rows = ThreadGroup<T, kLanes, kVectors>;
  constexpr int kNumbers = Rows::kNumbers;
  const Rows group(steps.columns);
  group.each_task(steps.count, steps.counter, [&](Index task) {
    const Offset begin = steps.tasks[task].begin;
    const Offset end = steps.tasks[task].end;
    double loss = 0.0;
    if (begin < end) {
      SgdEntry entry = steps.entries[begin];
      SgdEntry behind = steps.entries[min(begin + 1, end - 1)];
      auto stored = group.template load<!kMovesOther>(steps.other.rows, entry.item);
      SgdRowNumbers i = load_numbers(steps.other.numbers + entry.item, !kMovesOther);
      Index user = entry.user;
      float x[kNumbers];
      auto next_row = group.template load<false>(steps.own.rows, user);
      Rows::open(next_row, x);
      SgdRowNumbers u = load_numbers(steps.own.numbers + user, false);
      SgdRowNumbers next_u = u;
      Index far = user;  // of the step after a round of all lanes; each lane has its own
      if (kMovesOther && begin + kLanes + group.lane() < end) {
        far = steps.entries[begin + kLanes + group.lane()].user;
      }
      const auto leave = [&](Offset at) {
        const std::uint32_t random = random_of(~steps.random, at, group.lane());
        group.put(kMovesOther ? Rows::round_at_random(x, random) : Rows::round(x), steps.own.rows,
                  user);
        put_numbers(u, steps.own.numbers + user);
      };
      for (Offset at = begin; at < end; ++at) {
        if (kMovesOther && entry.user != user) {
          leave(at);
          user = entry.user;
          Rows::open(next_row, x);
          u = next_u;
        }
        // The next rows are on their way while this step is taken.
        const SgdEntry next = behind;
        auto next_stored = stored;
        SgdRowNumbers next_i = i;
        if (at + 1 < end) {
          next_stored = group.template load<!kMovesOther>(steps.other.rows, next.item);
          next_i = load_numbers(steps.other.numbers + next.item, !kMovesOther);
          if (kMovesOther && next.user != user) {
            next_row = group.template load<false>(steps.own.rows, next.user);
            next_u = load_numbers(steps.own.numbers + next.user, false);
          }
        }
        if (at + 2 < end) behind = steps.entries[at + 2];
        if (kMovesOther && (at - begin) % kLanes == 0) {
          group.fetch(steps.own.rows, far);
          const Offset ahead = at + 2 * kLanes + group.lane();
          if (ahead < end) far = steps.entries[ahead].user;
        }
        float y[kNumbers];
        Rows::open(stored, y);
        if (steps.nonnegative) end_at_zero(y);  // what races add may be below 0
        const float dot = group.dot(x, y);
        const Slope slope =
            slope_of(steps.logistic, entry.value, steps.mean + u.bias + i.bias + dot);
        loss += double{slope.loss};
        float user_step = kAdaptive ? rsqrtf(1.0F + u.squares) : 1.0F;
        float item_step = kAdaptive && kMovesOther ? rsqrtf(1.0F + i.squares) : 1.0F;
        if (steps.bounded) {
          float reach = reach_of(steps, u, user_step, i.norm);
          if (kMovesOther) reach += reach_of(steps, i, item_step, u.norm);
          if (reach > 1.0F) {
            user_step /= reach;
            item_step /= reach;
          }
        }
        const Move user_move(steps, u, slope.error, user_step);
        const SgdRowNumbers old_user = u;
        u = moved<kAdaptive>(steps, u, user_move, slope.error, user_step, dot, i.norm);
        if (kMovesOther) {
          const SgdRowNumbers old_i = i;
          const Move item_move(steps, i, slope.error, item_step);
          i = moved<kAdaptive>(steps, i, item_move, slope.error, item_step, dot, old_user.norm);
          float old_y[kNumbers];
#pragma unroll
          for (int n = 0; n < kNumbers; ++n) old_y[n] = y[n];
          item_move.apply(y, x);
          user_move.apply(x, old_y);
          if (steps.nonnegative) {
            end_at_zero(x);
            end_at_zero(y);
            u.norm = group.dot(x, x);
            i.norm = group.dot(y, y);
          }
          const auto before = stored;
          stored = Rows::round_at_random(y, random_of(steps.random, at, group.lane()));
          if (steps.races) {
            group.add(stored, before, steps.other.rows, entry.item);
            if (group.lane() == 0) add_numbers(i, old_i, steps.other.numbers + entry.item);
          } else {
            group.put(stored, steps.other.rows, entry.item);
            put_numbers(i, steps.other.numbers + entry.item);
          }
          if (next.item == entry.item) {
            next_stored = stored;
            next_i = i;
          }
        } else {
          user_move.apply(x, y);
          if (steps.nonnegative) {
            end_at_zero(x);
            u.norm = group.dot(x, x);
          }
        }
        entry = next;
        stored = next_stored;
        i = next_i;
      }
      leave(end);
    }
    if (group.lane() == 0) steps.losses[task] = loss;
  });
}

template <class T>
void launch(const SgdSteps& steps, cudaStream_t stream) {
  with_group_of(steps.columns, [&](auto lanes, auto vectors) {
    constexpr int kLanes = decltype(lanes)::value;
    constexpr int kVectors = decltype(vectors)::value;
    const auto kernel = steps.adaptive
                            ? (steps.moves_other ? take_steps<T, kLanes, kVectors, true, true>
                                                 : take_steps<T, kLanes, kVectors, true, false>)
                            : (steps.moves_other ? take_steps<T, kLanes, kVectors, false, true>
                                                 : take_steps<T, kLanes, kVectors, false, false>);
    GroupGrid grid(steps.groups > 0 ? std::min(steps.groups, steps.count) : steps.count, kLanes);
    if (steps.groups > 0) grid.limit(kernel);
    kernel<<<grid.blocks, grid.threads, 0, stream>>>(steps);
    LIKEWISE_CUDA_CHECK_LAUNCH();
  });
}

}  // namespace

void take_sgd_steps(bool halves, const SgdSteps& steps, cudaStream_t stream) {
  if (steps.count == 0) return;
  halves ? launch<__half>(steps, stream) : launch<float>(steps, stream);
}

}  // namespace likewise::cuda
