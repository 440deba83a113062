// SPDX-License-Identifier: Apache-2.0
/// Small tools of a warp: bit casts, sums, copies to shared memory that run beside the arithmetic.
#pragma once

#include <cstdint>
#include <cstring>

namespace likewise::cuda {

/// The bits of `from` as another type of the same size.
template <class To, class From>
__device__ __forceinline__ To as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

/// The same sum in every lane.
template <class Number>
__device__ __forceinline__ Number warp_sum(Number x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    x += __shfl_xor_sync(0xffffffffU, x, distance);
  }
  return x;
}

__device__ __forceinline__ std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

/// 16 bytes from global to shared memory; zeros instead when `valid` is false.
__device__ __forceinline__ void copy_16_async(std::uint32_t to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from),
               "r"(valid ? 16 : 0)
               : "memory");
}

__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}

/// Until at most `kLeft` of this thread's committed groups are in flight.
template <int kLeft>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kLeft) : "memory");
}

}  // namespace likewise::cuda
