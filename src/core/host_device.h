// SPDX-License-Identifier: Apache-2.0
/// For formulas that stand once and are compiled for the processor and for NVIDIA GPUs, and for
/// how they round. The policy:
///
/// - Every operation is of the type that is written, rounded once, in the written order.
/// - A product that is added to something is rounded first, by rounded_product(), where that
/// matters:
///   a fused multiply-add would round once instead of twice, and compilers fuse where there is one
///   (nvcc; gcc for ARM, and for x86-64 beyond its oldest instructions, which we do not ask for).
///   Where a product is exact, as with 0, 1 or 2, it does not matter.
/// - Functions of a library (log1p, pow) may differ in the last bit between the two; sqrt may not.
#pragma once

#ifdef __CUDACC__
#define LIKEWISE_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define LIKEWISE_HOST_DEVICE inline
#endif

namespace likewise {

[[nodiscard]] LIKEWISE_HOST_DEVICE double rounded_product(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  double product = a * b;
#if defined(__aarch64__)
  __asm__("" : "+w"(product));  // no instruction, but nothing fuses across it
#elif defined(__FMA__)
  __asm__("" : "+x"(product));
#endif
  return product;
#endif
}

}  // namespace likewise
