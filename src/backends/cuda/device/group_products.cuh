// SPDX-License-Identifier: Apache-2.0
/// Products on tensor cores by warp groups, of matrices that lie in shared memory: what GPUs of
/// compute capability 9.0 have. Only code for sm_90a may call these (bulk_copy.cuh).
///
/// A matrix has numbers of 16 bits in blocks of 64 columns; a block's rows have 128 bytes each, in
/// units of 16, of which unit u of row r lies where unit u ^ (r % 8) would. Blocks begin at
/// multiples of kBlockBase bytes. What threads have written there they hand over by
/// fence_bulk_copies().
#pragma once

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <type_traits>

namespace likewise::cuda {

inline constexpr int kBlockColumns = 64;
inline constexpr int kBlockRowBytes = 128;
inline constexpr int kBlockBase = 1024;

/// Where in a block the 16 bytes from column 8 `unit` on of a row begin.
[[nodiscard]] __device__ __forceinline__ std::uint32_t block_place(int row, int unit) {
  return static_cast<std::uint32_t>(row * kBlockRowBytes + ((unit ^ (row & 7)) << 4));
}

/// How tensor cores find an operand: its first address, and bytes to what follows 64 columns and
/// eight rows later.
[[nodiscard]] __device__ __forceinline__ std::uint64_t describe_blocks(std::uint32_t at,
                                                                       int block_bytes) {
  constexpr std::uint64_t kSwizzled = std::uint64_t{1} << 62;
  constexpr std::uint64_t kEightRows = 8 * kBlockRowBytes / 16;
  return kSwizzled | kEightRows << 32 | static_cast<std::uint64_t>(block_bytes / 16) << 16 |
         (at & 0x3FFFFU) / 16;
}

#define LIKEWISE_EIGHT(c, i)                                                                    \
  "+f"((c)[i]), "+f"((c)[(i) + 1]), "+f"((c)[(i) + 2]), "+f"((c)[(i) + 3]), "+f"((c)[(i) + 4]), \
      "+f"((c)[(i) + 5]), "+f"((c)[(i) + 6]), "+f"((c)[(i) + 7])
#define LIKEWISE_PRODUCT_OF(type, shape, numbers, operands, ...)                        \
  asm volatile("wgmma.mma_async.sync.aligned." shape ".f32." type "." type " {" numbers \
               "}, " operands ";\n"                                                     \
               : __VA_ARGS__                                                            \
               : "l"(a), "l"(b), "n"(kAdds), "n"(kTurned))
#define LIKEWISE_PRODUCT(...)                     \
  if constexpr (std::is_same_v<Number, __half>) { \
    LIKEWISE_PRODUCT_OF("f16", __VA_ARGS__);      \
  } else {                                        \
    LIKEWISE_PRODUCT_OF("bf16", __VA_ARGS__);     \
  }

/// c = a b', or with kAdds c += a b', for 64 x 16 numbers a and so many columns b' of depth 16.
/// Rows of b are columns of b', or, kTurned, its depths. Lane (g, t) of warp w has rows 16 w + g
/// and 16 w + g + 8 of columns 8 j + 2 t and the next one: c[4 j], c[4 j + 1], c[4 j + 2], c[4 j +
/// 3].
template <class Number, bool kAdds, bool kTurned>
__device__ __forceinline__ void multiply_group(float (&c)[16], std::uint64_t a, std::uint64_t b) {
  LIKEWISE_PRODUCT("m64n32k16", "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15",
                   "%16, %17, %18, 1, 1, 0, %19", LIKEWISE_EIGHT(c, 0), LIKEWISE_EIGHT(c, 8))
}

template <class Number, bool kAdds, bool kTurned>
__device__ __forceinline__ void multiply_group(float (&c)[32], std::uint64_t a, std::uint64_t b) {
  LIKEWISE_PRODUCT("m64n64k16",
                   "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,"
                   "%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31",
                   "%32, %33, %34, 1, 1, 0, %35", LIKEWISE_EIGHT(c, 0), LIKEWISE_EIGHT(c, 8),
                   LIKEWISE_EIGHT(c, 16), LIKEWISE_EIGHT(c, 24))
}

template <class Number, bool kAdds, bool kTurned>
__device__ __forceinline__ void multiply_group(float (&c)[64], std::uint64_t a, std::uint64_t b) {
  LIKEWISE_PRODUCT("m64n128k16",
                   "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,"
                   "%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,"
                   "%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,"
                   "%59,%60,%61,%62,%63",
                   "%64, %65, %66, 1, 1, 0, %67", LIKEWISE_EIGHT(c, 0), LIKEWISE_EIGHT(c, 8),
                   LIKEWISE_EIGHT(c, 16), LIKEWISE_EIGHT(c, 24), LIKEWISE_EIGHT(c, 32),
                   LIKEWISE_EIGHT(c, 40), LIKEWISE_EIGHT(c, 48), LIKEWISE_EIGHT(c, 56))
}
#undef LIKEWISE_PRODUCT_OF
#undef LIKEWISE_PRODUCT
#undef LIKEWISE_EIGHT

/// Before the first product of a batch: registers that it reads or adds to are written.
__device__ __forceinline__ void open_products() {
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
}
/// Behind the last one.
__device__ __forceinline__ void close_products() {
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}
/// Until at most the last kLeft batches are under way.
template <int kLeft>
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kLeft) : "memory");
}

}  // namespace likewise::cuda
