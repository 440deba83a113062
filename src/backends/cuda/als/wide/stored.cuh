// SPDX-License-Identifier: Apache-2.0
/// How the numbers of a wide table are read, four neighbours at a time.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backends/cuda/device/warp.cuh"

namespace likewise::cuda {

struct StoredHalf {
  static constexpr int kBytes = 2;
  using Total = float;  ///< in which a row's constant is summed
  using Four = uint2;
  static __device__ __forceinline__ float4 values(const uint2& four) {
    const float2 first = __half22float2(as<__half2>(four.x));
    const float2 second = __half22float2(as<__half2>(four.y));
    return make_float4(first.x, first.y, second.x, second.y);
  }
};

struct StoredBfloat {
  static constexpr int kBytes = 2;
  using Total = float;
  using Four = uint2;
  static __device__ __forceinline__ float4 values(const uint2& four) {
    const float2 first = __bfloat1622float2(as<__nv_bfloat162>(four.x));
    const float2 second = __bfloat1622float2(as<__nv_bfloat162>(four.y));
    return make_float4(first.x, first.y, second.x, second.y);
  }
};

/// tf32 too: rounded float32.
struct StoredFloat {
  static constexpr int kBytes = 4;
  using Total = double;
  using Four = float4;
  static __device__ __forceinline__ float4 values(const float4& four) { return four; }
};

}  // namespace likewise::cuda
