// SPDX-License-Identifier: Apache-2.0
/// Which tunings are compiled, and which of them is built in. Needs no GPU.
#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/als/als_variants.h"
#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/host/built_in_tunings.h"

namespace likewise::cuda {
namespace {

constexpr int kLarge = 227 << 10;  ///< bytes of shared memory of a block: compute capability 9.0
constexpr int kSmall = 99 << 10;   ///< 8.6, 8.9, 12.0
constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kTf32, Precision::kBf16,
                                     Precision::kFp16};

[[nodiscard]] AlsWork work_of(Precision precision, bool exact, int width) {
  return {Feedback::kImplicit, precision, exact, width};
}

template <class Visit>
void for_all_work(Visit visit) {
  for (const Precision precision : kPrecisions) {
    for (const bool exact : {false, true}) {
      for (int width = 1; width <= kMaxRowsPadded; ++width) {
        visit(work_of(precision, exact, width));
      }
    }
  }
}

TEST(AlsVariants, AreDifferentAndWideEnough) {
  for_all_work([](const AlsWork& work) {
    const std::vector<AlsTuning> all = als_variants(work, kLarge, true);
    ASSERT_FALSE(all.empty());
    std::set<std::tuple<int, int, int, int, int, bool>> seen;
    for (const AlsTuning& one : all) {
      EXPECT_GE(one.columns, work.width);
      EXPECT_EQ(one.columns % 16, 0);
      EXPECT_LE(one.columns, kMaxRowsPadded);
      EXPECT_LE(one.one_warp, one.short_rows);
      EXPECT_LE(one.short_rows, one.piece);
      EXPECT_LE(one.piece, 4096);
      EXPECT_TRUE(seen.emplace(one.columns, one.short_rows, one.one_warp, one.held_rows, one.piece,
                               one.wide)
                      .second);
      EXPECT_LE(one.held_rows, one.piece);
      if (!one.wide) EXPECT_GT(row_bytes(work.precision, work.exact, one.columns), 0);
      if (one.short_rows == 0) continue;
      EXPECT_TRUE(work.precision == Precision::kFp16 && !work.exact);
      EXPECT_GT(short_row_bytes(work.precision, one.columns, one.short_rows), 0);
    }
    EXPECT_LE(all.size(), 220U);
  });
}

TEST(AlsVariants, HeldRowsFollowShortOnes) {
  bool any = false;
  for_all_work([&](const AlsWork& work) {
    for (const AlsTuning& one : als_variants(work, kLarge, true)) {
      if (one.held_rows == 0) continue;
      any = true;
      EXPECT_GT(one.held_rows, one.short_rows);
      EXPECT_GT(one.short_rows, 0);
      EXPECT_TRUE(work.precision == Precision::kFp16 && !work.exact);
    }
    for (const AlsTuning& one : als_variants(work, kLarge, false)) EXPECT_EQ(one.held_rows, 0);
  });
  EXPECT_TRUE(any);
}

TEST(AlsVariants, FitTheSharedMemory) {
  for_all_work([](const AlsWork& work) {
    const std::vector<AlsTuning> all = als_variants(work, kSmall, false);
    ASSERT_FALSE(all.empty());
    for (const AlsTuning& one : all) {
      if (!one.wide) {
        EXPECT_LE(row_bytes(work.precision, work.exact, one.columns), kSmall);
      }
      if (one.short_rows > 0) {
        EXPECT_LE(short_row_bytes(work.precision, one.columns, one.short_rows), kSmall);
      }
    }
  });
}

TEST(AlsVariants, WhatNoBlockHoldsIsWide) {
  const auto only = [](Precision precision, bool exact, int width, int shared_memory) {
    const std::vector<AlsTuning> all =
        als_variants(work_of(precision, exact, width), shared_memory, false);
    return all.size() == 1 && all.front().wide ? all.front().columns : 0;
  };
  for (const Precision precision : kPrecisions) {
    for (const bool exact : {false, true}) {
      EXPECT_EQ(only(precision, exact, 257, kLarge), 272);
      EXPECT_EQ(only(precision, exact, 1024, kLarge), 1024);
    }
    EXPECT_EQ(only(precision, true, 200, kLarge), 0);
    EXPECT_EQ(only(precision, true, 200, kSmall), 208);
    EXPECT_EQ(only(precision, false, 250, kSmall), 256);
  }
  AlsWork nonnegative = work_of(Precision::kFp32, true, 33);
  nonnegative.nonnegative = true;  // a block sums their matrices, others solve them
  EXPECT_THAT(als_variants(nonnegative, kLarge, true),
              testing::ElementsAre(AlsTuning{.columns = 64, .wide = true}));
  nonnegative.width = 300;
  EXPECT_THAT(als_variants(nonnegative, kLarge, true),
              testing::ElementsAre(AlsTuning{.columns = 304, .wide = true}));
}

TEST(AlsVariants, BuiltInOnAnH200) {
  GpuInfo h200;
  h200.name = "NVIDIA H200";
  const auto built_in = [&](Precision precision, bool exact, int width) {
    const AlsWork work = work_of(precision, exact, width);
    return built_in_tuning(h200, work, als_variants(work, kLarge, true));
  };
  EXPECT_EQ(built_in(Precision::kFp16, false, 1), (AlsTuning{16, 0, 0, 4096}));
  EXPECT_EQ(built_in(Precision::kFp16, false, 64), (AlsTuning{64, 0, 0, 4096}));
  EXPECT_EQ(built_in(Precision::kFp16, false, 65), (AlsTuning{80, 32, 32, 4096, false, 64}));
  EXPECT_EQ(built_in(Precision::kFp16, false, 128), (AlsTuning{128, 32, 32, 4096, false, 256}));
  EXPECT_EQ(built_in(Precision::kFp16, true, 100), (AlsTuning{128, 0, 0, 4096}));
  EXPECT_EQ(built_in(Precision::kFp32, false, 100), (AlsTuning{128, 0, 0, 4096}));
  EXPECT_EQ(built_in(Precision::kTf32, true, 33), (AlsTuning{64, 0, 0, 4096}));
  EXPECT_EQ(built_in(Precision::kBf16, false, 20), (AlsTuning{32, 0, 0, 4096}));
  EXPECT_EQ(built_in(Precision::kFp16, false, 192), (AlsTuning{192, 160, 48, 4096}));
  EXPECT_EQ(built_in(Precision::kFp16, false, 193), (AlsTuning{208, 0, 0, 4096, true}));
  EXPECT_EQ(built_in(Precision::kFp32, true, 256), (AlsTuning{256, 0, 0, 4096}));
  EXPECT_EQ(built_in(Precision::kFp32, true, 257), (AlsTuning{272, 0, 0, 4096, true}));
}

}  // namespace
}  // namespace likewise::cuda
