// SPDX-License-Identifier: Apache-2.0
/// What the tests of the dense work on a GPU share: tables, float64 Gram matrices, copies.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cuda/device/memory.h"
#include "likewise/types.h"

namespace likewise::cuda::test {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

inline std::size_t at(Index row, Index column, Index width) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
         static_cast<std::size_t>(column);
}

inline Index padded_of(Index width) { return (width + 15) / 16 * 16; }

template <class T>
DeviceArray<T> to_gpu(const std::vector<T>& values) {
  DeviceArray<T> array(static_cast<Offset>(values.size()));
  copy_to_device(array.data(), values.data(), array.size(), nullptr);
  return array;
}

template <class T>
std::vector<T> to_host(const DeviceArray<T>& array) {
  std::vector<T> values(static_cast<std::size_t>(array.size()));
  copy_to_host(values.data(), array.data(), array.size(), nullptr);
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(nullptr));
  return values;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Normal numbers, rows x padded with zeros from `width` on. Rows and columns have lengths between
/// 10^-spread and 1.
inline std::vector<float> random_table(Index rows, Index width, double spread, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> exponent(-spread, 0.0);
  std::vector<double> length(static_cast<std::size_t>(width));
  for (double& x : length) x = std::pow(10.0, exponent(random));
  const Index padded = padded_of(width);
  std::vector<float> table(at(rows, 0, padded));
  for (Index r = 0; r < rows; ++r) {
    const double row_length = std::pow(10.0, exponent(random));
    for (Index c = 0; c < width; ++c) {
      const double x = normal(random) * row_length * length[static_cast<std::size_t>(c)];
      table[at(r, c, padded)] = static_cast<float>(x);
    }
  }
  return table;
}

/// The same with columns that depend on each other.
inline std::vector<float> mixed_table(Index rows, Index width, double spread, std::uint64_t seed) {
  const Index padded = padded_of(width);
  const std::vector<float> table = random_table(rows, width, spread, seed);
  const std::vector<float> mix = random_table(width, width, 0.0, seed + 1000);
  std::vector<float> mixed(table.size());
  for (Index r = 0; r < rows; ++r) {
    for (Index k = 0; k < width; ++k) {
      const float x = table[at(r, k, padded)] / std::sqrt(static_cast<float>(width));
      for (Index c = 0; c < width; ++c) mixed[at(r, c, padded)] += x * mix[at(k, c, padded)];
    }
  }
  return mixed;
}

/// sum_r w_r y_r y_r^T in float64.
inline std::vector<double> gram_of(const std::vector<float>& y, Index rows, Index padded,
                                   const std::vector<float>& weights) {
  std::vector<double> gram(at(padded, 0, padded));
  for (Index r = 0; r < rows; ++r) {
    const float* row = y.data() + at(r, 0, padded);
    const double w = weights.empty() ? 1.0 : weights[static_cast<std::size_t>(r)];
    for (Index i = 0; i < padded; ++i) {
      const double x = w * row[i];
      double* to = gram.data() + at(i, 0, padded);
      for (Index j = 0; j < padded; ++j) to[j] += x * row[j];
    }
  }
  return gram;
}

/// Skips where there is no GPU.
class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
      GTEST_SKIP() << "no CUDA device: " << cudaGetErrorString(cudaGetLastError());
    }
  }
};

}  // namespace likewise::cuda::test
