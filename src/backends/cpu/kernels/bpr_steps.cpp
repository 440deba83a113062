// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/bpr_steps.h"

#include <algorithm>
#include <cmath>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/bpr_steps.cpp"
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

template <int kVectors>
double Steps(const BprRun& run, CounterRandom& random) {
  const Tag d;
  double total = 0.0;
  std::vector<Index> negatives;
  std::size_t at = 0;
  std::size_t known_at = 0;
  while (at < run.likes.size()) {
    const Index user = run.likes[at].user;
    std::size_t end = at;
    while (end < run.likes.size() && run.likes[end].user == user) ++end;
    while (known_at < run.known.size() && run.known[known_at].user < user) ++known_at;
    std::size_t known_end = known_at;
    while (known_end < run.known.size() && run.known[known_end].user == user) ++known_end;
    const auto known = run.known.subspan(known_at, known_end - known_at);
    negatives.clear();
    for (std::size_t like = at; like < end; ++like) {
      const Index negative = draw_negative(run.negatives, known, random);
      negatives.push_back(negative);
      if (negative >= 0) fetch(run.items + Offset{negative} * run.stride, run.stride);
      fetch(run.items + Offset{run.likes[like].item} * run.stride, run.stride);
    }

    float* const user_row = run.users + Offset{user} * run.stride;
    RowRegisters<kVectors> x;
    x.load(user_row);
    for (std::size_t like = at; like < end; ++like) {
      const Index positive = run.likes[like].item;
      const Index negative = negatives[like - at];
      if (negative < 0) continue;
      float* HWY_RESTRICT const yi = run.items + Offset{positive} * run.stride;
      float* HWY_RESTRICT const yj = run.items + Offset{negative} * run.stride;
      Vec dots = hn::Zero(d);
      x.for_each(run.stride, [&](const Vec& part, Index c) HWY_ATTR {
        dots = hn::MulAdd(part, hn::Sub(hn::Load(d, yi + c), hn::Load(d, yj + c)), dots);
      });
      float margin = hn::GetLane(hn::SumOfLanes(d, dots));
      if (run.item_bias != nullptr) margin += run.item_bias[positive] - run.item_bias[negative];
      const float lower = std::exp(-std::abs(margin));  // never overflows
      const float wrong = (margin > 0.0F ? lower : 1.0F) / (1.0F + lower);
      total += double{std::log1p(lower)} + double{margin > 0.0F ? 0.0F : -margin};
      const bool moves_negative = run.changes == nullptr || run.changes[negative] != 0;
      const Vec take = hn::Set(d, run.rate * wrong);
      const Vec keep = hn::Set(d, 1.0F - run.rate * run.decay);
      x.for_each(run.stride, [&](Vec& part, Index c) HWY_ATTR {
        const Vec i = hn::Load(d, yi + c);
        const Vec j = hn::Load(d, yj + c);
        hn::Store(hn::MulAdd(take, part, hn::Mul(keep, i)), d, yi + c);
        if (moves_negative) hn::Store(hn::NegMulAdd(take, part, hn::Mul(keep, j)), d, yj + c);
        part = hn::MulAdd(take, hn::Sub(i, j), hn::Mul(keep, part));
      });
      if (run.item_bias == nullptr) continue;
      run.item_bias[positive] += run.rate * (wrong - run.decay * run.item_bias[positive]);
      if (!moves_negative) continue;
      run.item_bias[negative] -= run.rate * (wrong + run.decay * run.item_bias[negative]);
    }
    x.store(user_row);
    at = end;
    known_at = known_end;
  }
  return total;
}

double TakeBprSteps(const BprRun& run, CounterRandom& random) {
  return with_row_registers(run.stride, [&](auto vectors) HWY_ATTR {
    return Steps<decltype(vectors)::value>(run, random);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace likewise::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace likewise::kernels {
namespace {
HWY_EXPORT(TakeBprSteps);
}  // namespace

double take_bpr_steps(const BprRun& run, CounterRandom random) {
  return HWY_DYNAMIC_DISPATCH(TakeBprSteps)(run, random);
}

}  // namespace likewise::kernels
#endif
