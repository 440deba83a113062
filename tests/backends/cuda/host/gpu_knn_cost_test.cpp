// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/gpu_knn_cost.h"

#include <cmath>

#include <gtest/gtest.h>

namespace likewise {
namespace {

GpuInfo gpu() {
  GpuInfo gpu{"Fine GPU", 9, 0, Offset{140} << 30, {}, {}};
  gpu.specs = {132, 1.98e9, 4.8e12, Offset{60} << 20, 233'472, 232'448};
  return gpu;
}

/// Rows of which every cell is filled with this probability.
KnnWork filled(Index rows, Index cols, double fill) {
  KnnWork work{rows, cols, 0, 0.0, 1, 16, 20, true};
  work.entries = static_cast<Offset>(fill * rows * cols);
  work.common = fill * fill * rows * rows * cols;
  return work;
}

bool takes_dense(const KnnWork& work) { return gpu_knn_cost(work, gpu()).takes_dense(); }

TEST(GpuKnnCost, FullMatricesGoByGemmAndThinOnesDoNot) {
  EXPECT_TRUE(takes_dense(filled(4800, 3200, 1.0)));
  EXPECT_TRUE(takes_dense(filled(400, 4800, 1.0)));
  EXPECT_FALSE(takes_dense(filled(4800, 3200, 0.001)));
  KnnWork movies{26'744, 138'493, 20'000'263, 9.11e9, 1, 16, 20, true};
  EXPECT_FALSE(takes_dense(movies));
}

TEST(GpuKnnCost, ThereIsOneBoundary) {
  for (const auto& [rows, cols] : {std::pair<Index, Index>{4800, 3200}, {1000, 50'000}}) {
    double thin = 0.0;
    double full = 1.0;
    ASSERT_FALSE(takes_dense(filled(rows, cols, thin)));
    ASSERT_TRUE(takes_dense(filled(rows, cols, full)));
    for (int step = 0; step < 40; ++step) {
      const double middle = (thin + full) / 2;
      (takes_dense(filled(rows, cols, middle)) ? full : thin) = middle;
    }
    EXPECT_FALSE(takes_dense(filled(rows, cols, 0.95 * full)));
    EXPECT_TRUE(takes_dense(filled(rows, cols, 1.05 * full)));
    EXPECT_FALSE(takes_dense(filled(rows, cols, 0.1 * full)));
  }
}

TEST(GpuKnnCost, WhatCannotBeIsNotTaken) {
  KnnWork common = filled(4800, 3200, 1.0);
  common.dense_can = false;
  EXPECT_TRUE(std::isinf(gpu_knn_cost(common, gpu()).dense));
  GpuInfo small = gpu();
  small.memory = Offset{4800} * 3200 * 11;  // less than twice the 6 bytes of a cell
  EXPECT_TRUE(std::isinf(gpu_knn_cost(filled(4800, 3200, 1.0), small).dense));
}

TEST(GpuKnnCost, MoreSumsAndMoreTilesTakeLonger) {
  const KnnWork one = filled(4800, 3200, 0.5);
  KnnWork six = one;
  six.sums = 6;
  KnnWork cut = one;
  cut.tiles = 96;
  const double usual = gpu_knn_cost(one, gpu()).sparse;
  EXPECT_GT(gpu_knn_cost(six, gpu()).sparse, 1.5 * usual);
  EXPECT_GT(gpu_knn_cost(cut, gpu()).sparse, 1.5 * usual);
}

}  // namespace
}  // namespace likewise
