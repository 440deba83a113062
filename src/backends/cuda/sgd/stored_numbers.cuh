// SPDX-License-Identifier: Apache-2.0
/// Eight neighbouring factors as they are stored, and as float32.
#pragma once

#include <cuda_fp16.h>

#include "backends/cuda/device/warp.cuh"

namespace likewise::cuda {

template <class T>
struct StoredEight;

template <>
struct StoredEight<__half> {
  uint4 bits;
};

template <>
struct StoredEight<float> {
  float4 low;
  float4 high;
};

/// From the second cache: what other multiprocessors wrote is seen.
__device__ __forceinline__ StoredEight<__half> load_shared(const __half* at) {
  return {__ldcg(reinterpret_cast<const uint4*>(at))};
}
__device__ __forceinline__ StoredEight<float> load_shared(const float* at) {
  const auto* const four = reinterpret_cast<const float4*>(at);
  return {__ldcg(four), __ldcg(four + 1)};
}

/// Of what nobody writes while the kernel runs.
__device__ __forceinline__ StoredEight<__half> load_fixed(const __half* at) {
  return {__ldg(reinterpret_cast<const uint4*>(at))};
}
__device__ __forceinline__ StoredEight<float> load_fixed(const float* at) {
  const auto* const four = reinterpret_cast<const float4*>(at);
  return {__ldg(four), __ldg(four + 1)};
}

__device__ __forceinline__ void fetch_to_second_cache(const void* at) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(at)));
}

__device__ __forceinline__ void store(const StoredEight<__half>& stored, __half* at) {
  *reinterpret_cast<uint4*>(at) = stored.bits;
}
__device__ __forceinline__ void store(const StoredEight<float>& stored, float* at) {
  auto* const four = reinterpret_cast<float4*>(at);
  four[0] = stored.low;
  four[1] = stored.high;
}

__device__ __forceinline__ void add_four(const float4& x, float* at) {
#if __CUDA_ARCH__ >= 900
  atomicAdd(reinterpret_cast<float4*>(at), x);
#else
  atomicAdd(at, x.x), atomicAdd(at + 1, x.y), atomicAdd(at + 2, x.z), atomicAdd(at + 3, x.w);
#endif
}

/// Adds `to` - `from` in one go, so that nothing that others add is lost.
__device__ __forceinline__ void add_change(const StoredEight<__half>& to,
                                           const StoredEight<__half>& from, __half* at) {
  const std::uint32_t a[4] = {to.bits.x, to.bits.y, to.bits.z, to.bits.w};
  const std::uint32_t b[4] = {from.bits.x, from.bits.y, from.bits.z, from.bits.w};
  __half2 change[4];
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    change[p] =
        __hsub2(reinterpret_cast<const __half2&>(a[p]), reinterpret_cast<const __half2&>(b[p]));
  }
#if __CUDA_ARCH__ >= 900
  const auto bits = [&](int p) { return reinterpret_cast<const std::uint32_t&>(change[p]); };
  asm volatile(
      "red.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(at)),
      "r"(bits(0)), "r"(bits(1)), "r"(bits(2)), "r"(bits(3))
      : "memory");
#else
#pragma unroll
  for (int p = 0; p < 4; ++p) atomicAdd(reinterpret_cast<__half2*>(at) + p, change[p]);
#endif
}
__device__ __forceinline__ void add_change(const StoredEight<float>& to,
                                           const StoredEight<float>& from, float* at) {
  const auto change = [](const float4& a, const float4& b) {
    return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w);
  };
  add_four(change(to.low, from.low), at);
  add_four(change(to.high, from.high), at + 4);
}

__device__ __forceinline__ void unpack(const StoredEight<__half>& stored, float* x) {
  const std::uint32_t pairs[4] = {stored.bits.x, stored.bits.y, stored.bits.z, stored.bits.w};
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    const float2 two = __half22float2(reinterpret_cast<const __half2&>(pairs[p]));
    x[2 * p] = two.x;
    x[2 * p + 1] = two.y;
  }
}
__device__ __forceinline__ void unpack(const StoredEight<float>& stored, float* x) {
  x[0] = stored.low.x, x[1] = stored.low.y, x[2] = stored.low.z, x[3] = stored.low.w;
  x[4] = stored.high.x, x[5] = stored.high.y, x[6] = stored.high.z, x[7] = stored.high.w;
}

/// To the nearest.
__device__ __forceinline__ void pack(const float* x, StoredEight<__half>& stored) {
  std::uint32_t pairs[4];
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    const __half2 two = __floats2half2_rn(x[2 * p], x[2 * p + 1]);
    pairs[p] = reinterpret_cast<const std::uint32_t&>(two);
  }
  stored.bits = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}
__device__ __forceinline__ void pack(const float* x, StoredEight<float>& stored) {
  stored.low = make_float4(x[0], x[1], x[2], x[3]);
  stored.high = make_float4(x[4], x[5], x[6], x[7]);
}

/// The next of a row of random numbers (Numerical Recipes, "quick and dirty"): its upper half is
/// good enough to round by.
__device__ __forceinline__ std::uint32_t next_random(std::uint32_t random) {
  return random * 1664525U + 1013904223U;
}

/// Up or down at random, right on average. float16 has 13 bits less than float32.
__device__ __forceinline__ void pack_at_random(const float* x, std::uint32_t& random,
                                               StoredEight<__half>& stored) {
  std::uint32_t pairs[4];
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    random = next_random(random);
    const float low = as<float>(as<std::uint32_t>(x[2 * p]) + (random >> 19U));
    const float high = as<float>(as<std::uint32_t>(x[2 * p + 1]) + ((random >> 6U) & 0x1fffU));
    const __half2 two = __halves2half2(__float2half_rz(low), __float2half_rz(high));
    pairs[p] = reinterpret_cast<const std::uint32_t&>(two);
  }
  stored.bits = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}
__device__ __forceinline__ void pack_at_random(const float* x, std::uint32_t&,
                                               StoredEight<float>& stored) {
  pack(x, stored);
}

}  // namespace likewise::cuda
