// SPDX-License-Identifier: Apache-2.0
/// Estimates for GPUs that nobody has measured: an H200's numbers give what is best on one, and
/// other numbers what they should.
#include "backends/cuda/host/als_cost.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "backends/cuda/host/built_in_tunings.h"

namespace likewise {
namespace {

constexpr Offset kKilo = 1 << 10;
constexpr Offset kMega = 1 << 20;

[[nodiscard]] GpuInfo unknown_gpu(int major, int minor, const GpuSpecs& specs) {
  return {"A GPU", major, minor, Offset{80} << 30, {}, specs};
}

// As cudaGetDeviceProperties tells them.
const GpuInfo kLikeH200 =
    unknown_gpu(9, 0, {132, 1.98e9, 4.9e12, 60 * kMega, 228 * kKilo, 227 * kKilo});
const GpuInfo kLikeA100 =
    unknown_gpu(8, 0, {108, 1.41e9, 2.04e12, 40 * kMega, 164 * kKilo, 163 * kKilo});
const GpuInfo kLikeL40S =
    unknown_gpu(8, 9, {142, 2.52e9, 0.86e12, 96 * kMega, 100 * kKilo, 99 * kKilo});

[[nodiscard]] AlsWork work_of(int width, Precision precision = Precision::kFp16,
                              bool exact = false) {
  return {Feedback::kImplicit, precision, exact, width};
}

/// What the plug-in has for conjugate gradients in float16.
[[nodiscard]] std::vector<AlsTuning> compiled(int width, bool held_rows) {
  std::vector<AlsTuning> all;
  for (const int columns : {16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 256}) {
    if (columns < width) continue;
    for (const int piece : {4096, 2048, 1024}) {
      all.push_back({columns, 0, 0, piece});
      for (const int held : {64, 128, 192, 256}) {
        if (held_rows && columns > 64 && columns <= 160) {
          all.push_back({columns, 32, 32, piece, false, held});
        }
      }
      for (const int rows : {32, 48, 64, 80, 96, 128, 160, 192}) {
        for (const int one_warp : {48, 96, 192}) {
          const AlsTuning next{columns, rows, std::min(rows, one_warp), piece};
          if (next != all.back()) all.push_back(next);
        }
      }
    }
  }
  if (width > 128) all.push_back({.columns = (width + 15) / 16 * 16, .wide = true});
  return all;
}

TEST(AlsCost, AnH200sNumbersGiveItsTunings) {
  GpuInfo h200 = kLikeH200;
  h200.name = "NVIDIA H200";
  ASSERT_TRUE(is_measured(h200));
  ASSERT_FALSE(is_measured(kLikeH200));
  for (const int width : {1, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 192, 208, 224, 256, 512}) {
    const std::vector<AlsTuning> all = compiled(width, true);
    EXPECT_EQ(tuning_text(built_in_tuning(kLikeH200, work_of(width), all)),
              tuning_text(built_in_tuning(h200, work_of(width), all)))
        << width << " columns";
  }
}

/// The tuning that a GPU gets where nothing was measured.
[[nodiscard]] AlsTuning choice(const GpuInfo& gpu, int width) {
  return built_in_tuning(gpu, work_of(width), compiled(width, gpu.major == 9));
}

TEST(AlsCost, OtherPrecisionsAndExactRowsTakeTheNarrowestOfAnH200) {
  for (const Precision precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16}) {
    for (const bool exact : {false, true}) {
      for (const int width : {10, 64, 100, 128}) {
        std::vector<AlsTuning> all;
        for (const int columns : {16, 32, 64, 96, 128, 192, 256}) {
          for (const int piece : {4096, 2048, 1024}) {
            if (columns >= width) all.push_back({columns, 0, 0, piece});
          }
        }
        EXPECT_EQ(built_in_tuning(kLikeH200, work_of(width, precision, exact), all), all.front());
      }
    }
  }
}

TEST(AlsCost, SlowTensorCoresSolveMoreRowsWithoutAMatrix) {
  GpuInfo slow = kLikeH200;  // half the rate of tensor cores, all else the same
  slow.minor = 6;
  slow.major = 8;
  for (const int width : {80, 128}) {
    const AlsTuning fast = built_in_tuning(kLikeH200, work_of(width), compiled(width, false));
    EXPECT_GT(choice(slow, width).short_rows, fast.short_rows) << width;
  }
}

TEST(AlsCost, SlowMemoryKeepsMatricesInRegisters) {
  EXPECT_FALSE(choice(kLikeH200, 192).wide);
  EXPECT_TRUE(choice(kLikeH200, 256).wide);
  GpuInfo slow = kLikeH200;
  slow.specs.bandwidth /= 10;
  slow.specs.cache /= 100;
  EXPECT_FALSE(choice(slow, 256).wide);
}

TEST(AlsCost, LittleSharedMemoryHoldsFewerShortRows) {
  const AlsTuning short_rows{64, 192, 96, 4096};
  const AlsTuning matrices{64, 0, 0, 4096};
  const auto gain = [&](const GpuInfo& gpu) {
    return estimated_seconds(gpu, work_of(64), matrices) /
           estimated_seconds(gpu, work_of(64), short_rows);
  };
  GpuInfo little = kLikeH200;
  little.specs.shared_memory = 100 * kKilo;
  EXPECT_LT(gain(little), gain(kLikeH200));
}

TEST(AlsCost, LongPiecesAreCheaperInBulk) {
  for (const GpuInfo& gpu : {kLikeH200, kLikeA100, kLikeL40S}) {
    for (const int width : {16, 64, 100, 192}) EXPECT_EQ(choice(gpu, width).piece, 4096);
  }
}

/// More multiprocessors or clock never make anything slower, and every estimate is a number.
TEST(AlsCost, FasterGpusAreFaster) {
  for (const GpuInfo& gpu : {kLikeH200, kLikeA100, kLikeL40S}) {
    GpuInfo faster = gpu;
    faster.specs.multiprocessors *= 2;
    faster.specs.bandwidth *= 2;
    for (const int width : {1, 50, 100, 150, 256}) {
      for (const AlsTuning& one : compiled(width, true)) {
        const double seconds = estimated_seconds(gpu, work_of(width), one);
        EXPECT_GT(seconds, 0.0);
        EXPECT_LT(seconds, 10.0);
        EXPECT_NEAR(estimated_seconds(faster, work_of(width), one), seconds / 2, 1e-9);
      }
    }
  }
}

/// What a driver does not tell is taken from an H200.
TEST(AlsCost, MissingNumbersAreNoReasonToFail) {
  for (const int width : {64, 128, 256}) {
    EXPECT_EQ(choice(unknown_gpu(9, 0, {}), width), choice(kLikeH200, width));
  }
}

}  // namespace
}  // namespace likewise
