// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/cuda/device/check.h"
#include "backends/cuda/device/warp.cuh"
#include "backends/cuda/top_k/top_k_table.h"
#include "core/system/parallel.h"

namespace likewise::cuda {
namespace {

constexpr int kBlock = 256;
constexpr int kLargestExponent = 7;  // of a number in float16
constexpr int kBiasExponent = 100;   // of S times a bias, at most: far from the end of float32

void fill_ones(Index* at, Offset count, cudaStream_t stream) {  // -1 each
  if (count == 0) return;
  LIKEWISE_CUDA_CHECK(
      cudaMemsetAsync(at, 0xFF, static_cast<std::size_t>(count) * sizeof(Index), stream));
}

/// 2^n as a factor of two: n may be beyond what one float32 can be.
__device__ __forceinline__ float times_power(float x, int n) { return ldexpf(x, n); }

__device__ __forceinline__ float largest_of(const float* row, const float* centre, Index pitch,
                                            int lane) {
  float largest = 0.0F;
  for (Index j = lane; j < pitch; j += 32) largest = fmaxf(largest, fabsf(row[j] - centre[j]));
  return as<float>(__reduce_max_sync(0xffffffffU, as<std::uint32_t>(largest)));
}

/// Rounds a row less the centre to float16; the length of what came out.
__device__ __forceinline__ float round_row(const float* row, const float* centre, Index pitch,
                                           int exponent, int lane, __half* halves) {
  float squares = 0.0F;
  for (Index j = lane; j < pitch; j += 32) {
    const __half rounded = __float2half_rn(times_power(row[j] - centre[j], exponent));
    halves[j] = rounded;
    squares += __half2float(rounded) * __half2float(rounded);
  }
  return sqrtf(warp_sum(squares)) * 1.0001F;
}

__global__ void round_items(const float* rows, const float* centre, Index count, Index pitch,
                            int exponent, __half* halves) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto row = static_cast<Index>((Offset{blockIdx.x} * kBlock + threadIdx.x) / 32);
  if (row >= count) return;
  (void)round_row(rows + Offset{row} * pitch, centre, pitch, exponent, lane,
                  halves + Offset{row} * pitch);
}

struct ItemNumbers {
  int exponent;
  float norm;
  float abs_bias;
  bool distances;
};

__global__ void round_queries(const float* rows, const float* centre, Index count, Index pitch,
                              ItemNumbers items, __half* halves, QueryNumbers* numbers,
                              int* wrong) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto row = static_cast<Index>((Offset{blockIdx.x} * kBlock + threadIdx.x) / 32);
  if (row >= count) return;
  const float* const from = rows + Offset{row} * pitch;
  bool fits = true;
  for (Index j = lane; j < pitch; j += 32) fits = fits && fabsf(from[j]) <= kLargestNumber;
  if (!__all_sync(0xffffffffU, fits)) {  // nobody looks at its estimates
    for (Index j = lane; j < pitch; j += 32) halves[Offset{row} * pitch + j] = __half(0.0F);
    if (lane == 0) numbers[row] = {};
    if (lane == 0) *wrong = 1;
    return;
  }
  const float largest = largest_of(from, centre, pitch, lane);
  int exponent = largest > 0.0F ? kLargestExponent - ilogbf(largest) : 0;
  if (items.abs_bias > 0.0F) {
    exponent = min(exponent, kBiasExponent - items.exponent - ilogbf(items.abs_bias));
  }
  const float norm = round_row(from, centre, pitch, exponent, lane, halves + Offset{row} * pitch);
  if (lane > 0) return;
  QueryNumbers one;
  one.norm = norm;
  one.scale = times_power(1.0F, exponent + items.exponent);
  const auto columns = static_cast<float>(pitch);
  // Both rows rounded to 11 bits, sums on the tensor cores; numbers below the normal ones of
  // float16; the bias, the last sum and the rounding of an exact score.
  one.slope =
      1.001F * (norm * (0x1.02p-10F + columns * 0x1p-25F + 0x1p-22F) + sqrtf(columns) * 0x1p-24F);
  one.error = sqrtf(columns) * 0x1p-24F * norm + 0x1p-22F * one.scale * items.abs_bias;
  if (items.distances) {
    // Of -|q - y|^2 / 2, whose squares are at most so long.
    const int apart = items.exponent - exponent;
    one.error +=
        0x1p-22F * (times_power(norm * norm, apart) + times_power(items.norm * items.norm, -apart));
  }
  one.error *= 1.001F;
  numbers[row] = one;
}

__global__ void find_places(const Index* item, Index count, Index* place) {
  const auto at = static_cast<Index>(Offset{blockIdx.x} * kBlock + threadIdx.x);
  if (at < count) place[item[at]] = at;
}

__global__ void deny_alike(const Index* item, Index count, Offset words,
                           const std::uint8_t* allowed, std::uint64_t* denied) {
  const Offset word = Offset{blockIdx.x} * kBlock + threadIdx.x;
  if (word >= words) return;
  std::uint64_t bits = 0;
  for (int bit = 0; bit < 64; ++bit) {
    const Offset place = word * 64 + bit;
    const bool out = place >= count || (allowed != nullptr && allowed[item[place]] == 0);
    if (out) bits |= std::uint64_t{1} << bit;
  }
  denied[word] = bits;
}

/// A warp for each query.
template <class Number>
__global__ void deny_rows(const Index* place, Index items, Offset words, const std::uint64_t* alike,
                          const Offset* offsets, const Number* excluded, Index count,
                          std::uint64_t* denied, int* wrong) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto query = static_cast<Index>((Offset{blockIdx.x} * kBlock + threadIdx.x) / 32);
  if (query >= count) return;
  auto* const row = reinterpret_cast<unsigned long long*>(denied + Offset{query} * words);
  for (Offset word = lane; word < words; word += 32) row[word] = alike[word];
  __syncwarp();
  const Offset begin = offsets[query] - offsets[0];
  for (Offset at = begin + lane; at < offsets[query + 1] - offsets[0]; at += 32) {
    const auto item = static_cast<Index>(excluded[at]);
    const Index before = at > begin ? static_cast<Index>(excluded[at - 1]) : -1;
    if (item <= before || item >= items) {
      *wrong = 1;
      continue;
    }
    const Index to = place[item];
    if (to >= 0) atomicOr(row + to / 64, 1ULL << (to % 64));
  }
}

[[nodiscard]] int blocks_for(Index rows) {
  return static_cast<int>((Offset{rows} * 32 + kBlock - 1) / kBlock);
}

/// Rows of a matrix by `place`, padded with zeros.
template <class Place>
void upload_rows(const MatrixView& from, Index count, Index pitch, const Place& place, float* to,
                 Staging& staging, cudaStream_t stream) {
  const auto fill = [&](float* lines, Offset begin, Offset n) {
    parallel_for(n, 256, [&](Offset i) {
      float* const line = lines + i * pitch;
      const float* const row = from.row(place(static_cast<Index>(begin + i)));
      std::fill(std::copy_n(row, from.cols, line), line + pitch, 0.0F);
    });
  };
  staging.upload(to, count, pitch, fill, stream);
}

}  // namespace

TopKItems::TopKItems(const MatrixView& items, std::span<const float> item_bias, ScoreKind score,
                     std::span<const float> centre_of_items, std::span<const Index> order,
                     Staging& staging, cudaStream_t stream)
    : count(static_cast<Index>(order.size())),
      padded(padded_to(count, kTopKTile)),
      pitch(padded_to(std::max<Index>(1, items.cols), kTopKDepth)),
      distances(score == ScoreKind::kSquaredDistance),
      rows(Offset{count} * pitch),
      halves(Offset{padded} * pitch),
      place(items.rows) {
  const auto row_of = [&](Index at) { return order[static_cast<std::size_t>(at)]; };
  upload_rows(items, count, pitch, row_of, rows.data(), staging, stream);
  std::vector<float> middle(static_cast<std::size_t>(pitch));
  std::ranges::copy(centre_of_items, middle.begin());
  centre = to_device(middle, stream);
  // Everything that is known before rounding, on the host.
  std::vector<double> squares(order.size());
  std::vector<float> largest(order.size());
  parallel_for(count, 256, [&](Offset at) {
    const float* const row = items.row(row_of(static_cast<Index>(at)));
    double sum = 0.0;
    float most = 0.0F;
    for (Index j = 0; j < items.cols; ++j) {
      const double x = double{row[j]} - double{middle[static_cast<std::size_t>(j)]};
      sum += x * x;
      most = std::max(most, static_cast<float>(std::abs(x)));
    }
    squares[static_cast<std::size_t>(at)] = sum;
    largest[static_cast<std::size_t>(at)] = most;
  });
  const float most = largest.empty() ? 0.0F : std::ranges::max(largest);
  exponent = most > 0.0F ? kLargestExponent - std::ilogb(most) : 0;
  const bool biased = distances || !item_bias.empty();
  std::vector<float> biases(biased ? static_cast<std::size_t>(padded) : 0, -INFINITY);
  std::vector<RestBound> bounds(static_cast<std::size_t>(padded / kTopKTile), {0.0F, -INFINITY});
  for (Index at = 0; at < count; ++at) {
    const auto i = static_cast<std::size_t>(at);
    float added = 0.0F;
    if (distances) added = static_cast<float>(-0.5 * squares[i]);
    if (!item_bias.empty()) added = item_bias[static_cast<std::size_t>(row_of(at))];
    if (biased) biases[i] = added;
    // Rounding moves a row by 2^-11 of its length, and numbers too small for that by 2^-25.
    const double length = std::ldexp(std::sqrt(squares[i]), exponent) * (1.0 + 0x1p-10) +
                          0x1p-24 * std::sqrt(static_cast<double>(pitch));
    const float above = static_cast<float>(length * (1.0 + 1e-6));
    RestBound& bound = bounds[i / kTopKTile];
    bound.norm = std::max(bound.norm, above);
    bound.bias = std::max(bound.bias, added);
    norm = std::max(norm, above);
    abs_bias = std::max(abs_bias, std::abs(added));
  }
  for (std::size_t t = bounds.size(); t-- > 1;) {
    bounds[t - 1].norm = std::max(bounds[t - 1].norm, bounds[t].norm);
    bounds[t - 1].bias = std::max(bounds[t - 1].bias, bounds[t].bias);
  }
  item = to_device(order, stream);
  estimated = to_device(biases, stream);
  rest = to_device(bounds, stream);
  if (!item_bias.empty()) {
    std::vector<float> own(order.size());
    for (std::size_t at = 0; at < own.size(); ++at) {
      own[at] = item_bias[static_cast<std::size_t>(order[at])];
    }
    bias = to_device(own, stream);
  }
  fill_zero(halves.data(), halves.size(), stream);
  fill_ones(place.data(), place.size(), stream);
  if (count == 0) return;
  find_places<<<(count + kBlock - 1) / kBlock, kBlock, 0, stream>>>(item.data(), count,
                                                                    place.data());
  LIKEWISE_CUDA_CHECK_LAUNCH();
  round_items<<<blocks_for(count), kBlock, 0, stream>>>(rows.data(), centre.data(), count, pitch,
                                                        exponent, halves.data());
  LIKEWISE_CUDA_CHECK_LAUNCH();
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));  // for any stream
}

TopKQueries::TopKQueries(Index most_queries, Index pitch)
    : most(padded_to(most_queries, kTopKTile)),
      rows(Offset{most} * pitch),
      halves(Offset{most} * pitch),
      numbers(most),
      pitch_(pitch) {}

void TopKQueries::load(const MatrixView& queries, Staging& staging, cudaStream_t stream) {
  count = queries.rows;
  upload_rows(
      queries, count, pitch_, [](Index at) { return at; }, rows.data(), staging, stream);
}

void TopKQueries::round(const TopKItems& items, int* wrong, cudaStream_t stream) {
  const Index behind = padded_to(count, kTopKTile) - count;
  fill_zero(halves.data() + Offset{count} * pitch_, Offset{behind} * pitch_, stream);
  fill_zero(numbers.data() + count, behind, stream);
  round_queries<<<blocks_for(count), kBlock, 0, stream>>>(
      rows.data(), items.centre.data(), count, pitch_,
      {items.exponent, items.norm, items.abs_bias, items.distances}, halves.data(), numbers.data(),
      wrong);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

DeviceArray<std::uint64_t> denied_places(const TopKItems& items, const std::uint8_t* allowed,
                                         cudaStream_t stream) {
  DeviceArray<std::uint64_t> denied(items.words());
  if (items.count == 0) return denied;
  deny_alike<<<static_cast<unsigned>((items.words() + kBlock - 1) / kBlock), kBlock, 0, stream>>>(
      items.item.data(), items.count, items.words(), allowed, denied.data());
  LIKEWISE_CUDA_CHECK_LAUNCH();
  return denied;
}

template <class Number>
void deny_excluded(const TopKItems& items, const std::uint64_t* alike, const Offset* offsets,
                   const Number* excluded, Index count, std::uint64_t* denied, int* wrong,
                   cudaStream_t stream) {
  if (count == 0) return;
  deny_rows<<<blocks_for(count), kBlock, 0, stream>>>(
      items.place.data(), static_cast<Index>(items.place.size()), items.words(), alike, offsets,
      excluded, count, denied, wrong);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

template void deny_excluded(const TopKItems&, const std::uint64_t*, const Offset*, const Index*,
                            Index, std::uint64_t*, int*, cudaStream_t);
template void deny_excluded(const TopKItems&, const std::uint64_t*, const Offset*,
                            const std::uint16_t*, Index, std::uint64_t*, int*, cudaStream_t);

}  // namespace likewise::cuda
