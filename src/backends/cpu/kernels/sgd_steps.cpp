// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/sgd_steps.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/sgd_steps.cpp"
// foreach_target.h comes first:
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backends/cpu/kernels/row_registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace likewise::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// How many entries ahead an item's row is fetched: about the latency of the L3 cache.
constexpr std::size_t kAhead = 6;

HWY_INLINE float sum_of(Vec x) { return hn::GetLane(hn::SumOfLanes(Tag(), x)); }

/// What a step needs of a row besides its factors.
struct RowNumbers {
  float bias = 0.0F;
  float squares = 0.0F;
  float decay = 0.0F;
  float bias_decay = 0.0F;

  HWY_INLINE RowNumbers(const SgdRows& rows, Index at)
      : bias(rows.bias != nullptr ? rows.bias[at] : 0.0F),
        squares(rows.squares != nullptr ? rows.squares[at] : 0.0F),
        decay(rows.decay[at]),
        bias_decay(rows.bias_decay[at]) {}
  HWY_INLINE void put(const SgdRows& rows, Index at) const {
    if (rows.bias != nullptr) rows.bias[at] = bias;
    if (rows.squares != nullptr) rows.squares[at] = squares;
  }
};

/// A gradient and its loss.
struct Slope {
  float error = 0.0F;
  double loss = 0.0;
};
HWY_INLINE Slope slope_of(bool logistic, float value, float score) {
  if (!logistic) {
    const float error = value - score;
    return {error, double{error} * double{error}};
  }
  const double sign = value > 0.0F ? 1.0 : -1.0;
  const double margin = sign * double{score};
  const double wrong = 1.0 / (1.0 + std::exp(margin));  // probability of the other answer
  const double loss =
      margin > 0.0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin;
  return {static_cast<float>(sign * wrong), 2.0 * loss};
}

/// kGuarded: steps may be shortened, and factors end at 0 where they must.
template <int kVectors, bool kAdaptive, bool kGuarded>
double Steps(const SgdRun& run) {
  const Tag d;
  const std::span<const SgdEntry> entries = run.entries;
  const Vec least = hn::Set(d, run.nonnegative ? 0.0F : std::numeric_limits<float>::lowest());
  const auto guarded = [&](const Vec& moved)
                           HWY_ATTR { return kGuarded ? hn::Max(moved, least) : moved; };
  double total = 0.0;
  std::size_t at = 0;
  while (at < entries.size()) {
    const Index user = entries[at].user;
    float* const user_row = run.users.factors + Offset{user} * run.stride;
    RowRegisters<kVectors> x;
    x.load(user_row);
    RowNumbers u(run.users, user);
    for (; at < entries.size() && entries[at].user == user; ++at) {
      if (at + kAhead < entries.size()) {
        fetch(run.items.factors + Offset{entries[at + kAhead].item} * run.stride, run.stride);
      }
      const SgdEntry entry = entries[at];
      float* HWY_RESTRICT const y = run.items.factors + Offset{entry.item} * run.stride;
      RowNumbers i(run.items, entry.item);
      Vec dots = hn::Zero(d);
      Vec xx = hn::Zero(d);
      Vec yy = hn::Zero(d);
      x.for_each(run.stride, [&](const Vec& part, Index j) HWY_ATTR {
        const Vec other = hn::Load(d, y + j);
        dots = hn::MulAdd(part, other, dots);
        if (kAdaptive || kGuarded) {
          xx = hn::MulAdd(part, part, xx);
          yy = hn::MulAdd(other, other, yy);
        }
      });
      const float dot = sum_of(dots);
      const Slope slope = slope_of(run.logistic, entry.value, run.mean + u.bias + i.bias + dot);
      total += slope.loss;
      float user_step = 1.0F;
      float item_step = 1.0F;
      const float x2 = kAdaptive || kGuarded ? sum_of(xx) : 0.0F;
      const float y2 = kAdaptive || kGuarded ? sum_of(yy) : 0.0F;
      if (kAdaptive) {
        user_step = 1.0F / std::sqrt(1.0F + u.squares);
        item_step = 1.0F / std::sqrt(1.0F + i.squares);
        // |error y - decay x|^2 without another pass.
        const float square = slope.error * slope.error;
        const float cross = 2.0F * slope.error * dot;
        u.squares += run.square_scale * (square * y2 - u.decay * cross + u.decay * u.decay * x2);
        i.squares += run.square_scale * (square * x2 - i.decay * cross + i.decay * i.decay * y2);
      }
      if (kGuarded && run.bounded) {
        float reach =
            step_reach(run.rate * user_step, y2, u.decay, run.bias_rate * user_step, u.bias_decay);
        if (run.moves_items) {
          reach += step_reach(run.rate * item_step, x2, i.decay, run.bias_rate * item_step,
                              i.bias_decay);
        }
        if (reach > 1.0F) {
          user_step /= reach;
          item_step /= reach;
        }
      }
      const float user_rate = run.rate * user_step;
      const float item_rate = run.rate * item_step;
      const Vec user_keep = hn::Set(d, 1.0F - user_rate * u.decay);
      const Vec user_take = hn::Set(d, user_rate * slope.error);
      const Vec item_keep = hn::Set(d, 1.0F - item_rate * i.decay);
      const Vec item_take = hn::Set(d, item_rate * slope.error);
      u.bias += run.bias_rate * user_step * (slope.error - u.bias_decay * u.bias);
      if (run.moves_items) {
        x.for_each(run.stride, [&](Vec& part, Index j) HWY_ATTR {
          const Vec other = hn::Load(d, y + j);
          hn::Store(guarded(hn::MulAdd(part, item_take, hn::Mul(other, item_keep))), d, y + j);
          part = guarded(hn::MulAdd(other, user_take, hn::Mul(part, user_keep)));
        });
        i.bias += run.bias_rate * item_step * (slope.error - i.bias_decay * i.bias);
        i.put(run.items, entry.item);
      } else {
        x.for_each(run.stride, [&](Vec& part, Index j) HWY_ATTR {
          part = guarded(hn::MulAdd(hn::Load(d, y + j), user_take, hn::Mul(part, user_keep)));
        });
      }
    }
    x.store(user_row);
    u.put(run.users, user);
  }
  return total;
}

double TakeSgdSteps(const SgdRun& run) {
  return with_row_registers(run.stride, [&](auto vectors) HWY_ATTR {
    constexpr int kVectors = decltype(vectors)::value;
    const bool adaptive = run.users.squares != nullptr;
    if (run.bounded || run.nonnegative) {
      return adaptive ? Steps<kVectors, true, true>(run) : Steps<kVectors, false, true>(run);
    }
    return adaptive ? Steps<kVectors, true, false>(run) : Steps<kVectors, false, false>(run);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace likewise::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace likewise::kernels {
namespace {
HWY_EXPORT(TakeSgdSteps);
}  // namespace

double take_sgd_steps(const SgdRun& run) { return HWY_DYNAMIC_DISPATCH(TakeSgdSteps)(run); }

}  // namespace likewise::kernels
#endif
