// SPDX-License-Identifier: Apache-2.0
/// What GPUs of compute capability 9.0 have for blocks whose warps do different work: copies of
/// whole rows to shared memory that no thread waits for, barriers that count their bytes, registers
/// handed from warp to warp, and kernels that begin while the one before them ends.
///
/// Only code for sm_90a may call these (kHasBulkCopies).
#pragma once

#include <cstdint>

namespace likewise::cuda {

/// Makes a barrier in shared memory of 8 bytes: a phase ends when so many threads have arrived and
/// all bytes that they announced have come.
__device__ __forceinline__ void make_barrier(std::uint32_t barrier, int threads = 1) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;\n" ::"r"(barrier), "r"(threads) : "memory");
}

/// What this thread wrote to shared memory is there for bulk copies and for products of warp groups
/// (group_products.cuh), and barriers are made.
__device__ __forceinline__ void fence_bulk_copies() {
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}

__device__ __forceinline__ void arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];\n" ::"r"(barrier) : "memory");
}

/// Arrives, and announces so many bytes.
__device__ __forceinline__ void arrive_expecting(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;\n" ::"r"(barrier), "r"(bytes)
               : "memory");
}

[[nodiscard]] __device__ __forceinline__ bool has_ended(std::uint32_t barrier,
                                                        std::uint32_t parity) {
  std::uint32_t ended;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}\n"
      : "=r"(ended)
      : "r"(barrier), "r"(parity)
      : "memory");
  return ended != 0U;
}

/// Until the barrier's phase of this parity (of its number, from 0 on) has ended.
__device__ __forceinline__ void wait_for_phase(std::uint32_t barrier, std::uint32_t parity) {
  while (!has_ended(barrier, parity)) {
  }
}

/// The same for warps that have time, and should not take it from others.
__device__ __forceinline__ void wait_patiently(std::uint32_t barrier, std::uint32_t parity) {
  while (!has_ended(barrier, parity)) __nanosleep(64);
}

/// Bytes from global to shared memory, a multiple of 16 at multiples of 16; the barrier counts
/// them.
__device__ __forceinline__ void copy_bulk(std::uint32_t to, const void* from, std::uint32_t bytes,
                                          std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\n" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

/// From here on the warps of this warp group have fewer, or more, registers each.
template <int kRegisters>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}

/// The kernel behind this one in its stream, where launched to, may begin on multiprocessors that
/// this one has left. It must end with wait_for_kernel_before().
__device__ __forceinline__ void let_next_kernel_begin() {
  asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");
}
__device__ __forceinline__ void wait_for_kernel_before() {
  asm volatile("griddepcontrol.wait;\n" ::: "memory");
}

}  // namespace likewise::cuda
