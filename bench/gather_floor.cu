// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/cuda/device/event.h"
#include "backends/cuda/device/memory.h"
#include "gather_floor.h"

namespace likewise {
namespace {

constexpr int kBlock = 256;
constexpr int kWarps = kBlock / 32;
constexpr int kRowsPerWarp = 256;
constexpr int kInFlight = 8;

__global__ void fill_random(std::uint32_t* table, Offset words) {
  const Offset step = Offset{gridDim.x} * kBlock;
  for (Offset i = Offset{blockIdx.x} * kBlock + threadIdx.x; i < words; i += step) {
    auto x = static_cast<std::uint32_t>(i) * 2654435761U;
    x ^= x >> 15;
    table[i] = x * 2246822519U;
  }
}

/// A warp reads the rows of 256 interactions in pieces of 16 bytes, several in flight, and adds
/// them up; the sum is written so that nothing can be left out.
__global__ void __launch_bounds__(kBlock)
    gather(const uint4* table, const Index* columns, Offset count, int pieces, std::uint32_t* out) {
  __shared__ Index own[kWarps][kRowsPerWarp];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const Offset first = (Offset{blockIdx.x} * kWarps + warp) * kRowsPerWarp;
  const int rows = static_cast<int>(max(Offset{0}, min(Offset{kRowsPerWarp}, count - first)));
  for (int i = lane; i < rows; i += 32) own[warp][i] = columns[first + i];
  __syncwarp();

  int row = lane / pieces;
  int piece = lane % pieces;
  const int next_row = 32 / pieces;
  const int next_piece = 32 % pieces;
  std::uint32_t sum = 0;
  while (row < rows) {
    uint4 read[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      read[i] = row < rows ? __ldg(table + Offset{own[warp][row]} * pieces + piece)
                           : make_uint4(0, 0, 0, 0);
      row += next_row;
      piece += next_piece;
      if (piece >= pieces) {
        piece -= pieces;
        ++row;
      }
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) sum += read[i].x ^ read[i].y ^ read[i].z ^ read[i].w;
  }
  out[Offset{blockIdx.x} * kBlock + threadIdx.x] = sum;
}

}  // namespace

double gather_seconds(const CsrView& matrix, int row_bytes) {
  const int pieces = row_bytes / 16;
  const Offset words = Offset{matrix.cols} * pieces * 4;
  const auto blocks =
      static_cast<int>((matrix.nnz() + kWarps * kRowsPerWarp - 1) / (kWarps * kRowsPerWarp));
  cuda::DeviceArray<std::uint32_t> table(words);
  cuda::DeviceArray<Index> columns(matrix.nnz());
  cuda::DeviceArray<std::uint32_t> out(Offset{blocks} * kBlock);
  fill_random<<<4096, kBlock>>>(table.data(), words);
  LIKEWISE_CUDA_CHECK_LAUNCH();
  cuda::copy_to_device(columns.data(), matrix.columns, matrix.nnz(), nullptr);

  std::vector<double> seconds;
  for (int pass = 0; pass < 7; ++pass) {
    cuda::Timestamp begin;
    cuda::Timestamp end;
    begin.record(nullptr);
    gather<<<blocks, kBlock>>>(reinterpret_cast<const uint4*>(table.data()), columns.data(),
                               matrix.nnz(), pieces, out.data());
    LIKEWISE_CUDA_CHECK_LAUNCH();
    end.record(nullptr);
    seconds.push_back(begin.until(end));
  }
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

}  // namespace likewise
