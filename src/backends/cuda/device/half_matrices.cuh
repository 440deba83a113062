// SPDX-License-Identifier: Apache-2.0
/// Products of small matrices of float16 numbers on tensor cores, and what brings them there.
#pragma once

#include <cstdint>

namespace likewise::cuda {

/// c += a b for 16 x 16 halves a and 16 x 8 halves b. Lane (g, t) = (lane / 4, lane % 4) holds
/// of a: rows g, g + 8 of depths 2t, 2t + 1 (a[0], a[1]), the same rows of depths 2t + 8, 2t + 9;
/// of b: column g of depths 2t, 2t + 1 and 2t + 8, 2t + 9;
/// of c: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
__device__ __forceinline__ void mma_half(float (&c)[4], const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Four matrices of 8 x 8 numbers of 16 bits from shared memory: lane l says where row l % 8 of
/// matrix l / 8 begins.
__device__ __forceinline__ void load_matrices(std::uint32_t (&x)[4], std::uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(at)
               : "memory");
}

/// The same, transposed.
__device__ __forceinline__ void load_turned_matrices(std::uint32_t (&x)[4], std::uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(at)
               : "memory");
}

/// A matrix of 8 x 8 numbers of 16 bits that a warp holds, transposed.
__device__ __forceinline__ std::uint32_t turn_matrix(std::uint32_t x) {
  std::uint32_t turned;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;\n" : "=r"(turned) : "r"(x));
  return turned;
}

}  // namespace likewise::cuda
