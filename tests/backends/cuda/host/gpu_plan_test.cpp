// SPDX-License-Identifier: Apache-2.0
/// What a training takes of a GPU: needs none.
#include "backends/cuda/host/gpu_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/system/memory.h"
#include "likewise/error.h"

namespace likewise {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr Offset kGibibyte = Offset{1} << 30;
constexpr Offset kEnough = Offset{1} << 50;

/// As the CUDA plug-in asks at `columns` columns in float16.
[[nodiscard]] GpuAlsNeeds needs(const AlsShape& shape, int columns) {
  GpuAlsNeeds wanted;
  wanted.shape = shape;
  wanted.columns = columns;
  wanted.stored_bytes = 2;
  wanted.has_biases = true;
  wanted.piece_bytes = 40960;
  wanted.task_bytes = 24;
  wanted.workspace = Offset{16} << 20;
  return wanted;
}

constexpr AlsShape kNetflix{480189, 17770, 99072112};
constexpr AlsShape kHugewiki{50082603, 39780, 3101144313};

/// The least memory that a placement is chosen with: one byte less, and it is not.
[[nodiscard]] Offset least_for(const GpuAlsNeeds& wanted, Placement placement) {
  Offset low = 0;  // too little
  Offset high = kEnough;
  while (high - low > 1) {
    const Offset middle = low + (high - low) / 2;
    bool enough = false;
    try {
      enough = plan_gpu_als(wanted, middle).placement <= placement;
    } catch (const Error&) {
    }
    (enough ? high : low) = middle;
  }
  return high;
}

TEST(GpuPlan, WhatFitsStaysOnTheGpu) {
  const GpuAlsPlan plan = plan_gpu_als(needs(kNetflix, 128), 139 * kGibibyte);
  EXPECT_EQ(plan.placement, Placement::kResident);
  EXPECT_GE(plan.block_rows, kNetflix.users);  // in one go
  EXPECT_EQ(plan.portion_entries, kNetflix.interactions);
  EXPECT_EQ(plan.transpose_entries, kNetflix.interactions);
  EXPECT_LT(plan.memory.total, 8 * kGibibyte);
}

/// 25 GB of interactions each way and 22 GB of factors.
TEST(GpuPlan, HugewikiFitsAGpuOf141GigabytesWhole) {
  const GpuAlsPlan plan = plan_gpu_als(needs(kHugewiki, 112), 139 * kGibibyte);
  EXPECT_EQ(plan.placement, Placement::kResident);
  EXPECT_LT(plan.memory.total, 100 * kGibibyte);
  EXPECT_LT(plan.memory.machine, kGibibyte);
}

TEST(GpuPlan, ThePartsAreTheTotal) {
  for (const Offset available : {139 * kGibibyte, 60 * kGibibyte, 30 * kGibibyte}) {
    const MemoryPlan memory = plan_gpu_als(needs(kHugewiki, 112), available).memory;
    Offset sum = 0;
    for (const MemoryPlan::Part& part : memory.parts) {
      EXPECT_GE(part.bytes, 0) << part.name;
      sum += part.bytes;
    }
    EXPECT_EQ(sum, memory.total);
    EXPECT_LE(memory.total, available);
    EXPECT_EQ(memory.available, available);
    EXPECT_THAT(describe(memory), HasSubstr(size_text(static_cast<double>(memory.total))));
  }
}

TEST(GpuPlan, EveryPlacementHasItsBoundary) {
  for (const AlsShape& shape : {AlsShape{40000, 7, 80000}, kNetflix, kHugewiki}) {
    for (const int columns : {16, 112, 256}) {
      SCOPED_TRACE(testing::Message() << shape.users << " users, " << columns << " columns");
      const GpuAlsNeeds wanted = needs(shape, columns);
      Offset before = kEnough;
      for (const Placement placement :
           {Placement::kResident, Placement::kStreamedMatrix, Placement::kStreamedTables}) {
        const Offset least = least_for(wanted, placement);
        EXPECT_LE(least, before);
        before = least;
        const GpuAlsPlan plan = plan_gpu_als(wanted, least);
        EXPECT_LE(plan.placement, placement);
        EXPECT_EQ(plan.memory.total, least);  // it takes all that there is
        if (placement != Placement::kStreamedTables) {
          EXPECT_GT(plan_gpu_als(wanted, least - 1).placement, placement);
          continue;
        }
        try {
          (void)plan_gpu_als(wanted, least - 1);
          ADD_FAILURE() << "planned with one byte too few";
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::kOutOfMemory);
          EXPECT_THAT(error.what(), AllOf(HasSubstr("total"), HasSubstr("available"),
                                          HasSubstr("fixed side, stored")));
        }
      }
    }
  }
}

/// What is streamed is held by the machine, except for the factors, which are there anyway.
TEST(GpuPlan, StreamedInteractionsAreCountedOnTheMachine) {
  const GpuAlsNeeds wanted = needs(kHugewiki, 112);
  const GpuAlsPlan streamed = plan_gpu_als(wanted, 60 * kGibibyte);
  EXPECT_EQ(streamed.placement, Placement::kStreamedMatrix);
  EXPECT_GT(streamed.memory.machine, 8 * kHugewiki.interactions);
  EXPECT_LT(streamed.portion_entries, kHugewiki.interactions);
  EXPECT_EQ(streamed.transpose_entries, 0);
}

/// One of two GPUs has half of everything, except for the fixed side, which it has whole, and the
/// interactions that it exchanges; the machine holds nothing besides, the factors are in place.
TEST(GpuPlan, OneOfSeveralGpusHasItsPart) {
  const AlsShape part{kHugewiki.users / 2, kHugewiki.items / 2, kHugewiki.interactions / 2};
  GpuAlsNeeds wanted = needs(part, 112);
  const GpuAlsPlan alone = plan_gpu_als(wanted, kEnough);
  wanted.fixed_rows = kHugewiki.users;
  const GpuAlsPlan plan = plan_gpu_als(wanted, kEnough);
  EXPECT_EQ(plan.placement, Placement::kResident);
  EXPECT_GT(plan.transpose_entries, 0);
  const auto bytes = [](const GpuAlsPlan& of, std::string_view name) {
    Offset found = 0;
    for (const MemoryPlan::Part& one : of.memory.parts) found += one.name == name ? one.bytes : 0;
    return found;
  };
  EXPECT_EQ(bytes(plan, "fixed side, stored"), Offset{kHugewiki.users} * (112 * 2 + 4));
  EXPECT_EQ(bytes(plan, "factors"), bytes(alone, "factors"));
  EXPECT_GE(plan.memory.total, 4 * 8 * part.interactions);
  EXPECT_EQ(plan.memory.machine, alone.memory.machine);
}

TEST(GpuPlan, BuffersShrinkBeforeAPlacementIsGivenUp) {
  const GpuAlsNeeds wanted = needs(kHugewiki, 112);
  const Offset roomy = plan_gpu_als(wanted, kEnough).memory.total;
  const GpuAlsPlan tight = plan_gpu_als(wanted, roomy - 1);
  EXPECT_EQ(tight.placement, Placement::kResident);
  EXPECT_LT(tight.memory.total, roomy);
  EXPECT_GE(tight.block_rows, kLeastBlockRows);
  EXPECT_EQ(tight.block_rows % kLeastBlockRows, 0);
  EXPECT_GE(tight.portion_entries, 2 * wanted.piece);
}

/// A launch must hold its rows whole where they cannot be cut.
TEST(GpuPlan, WholeRowsFitAPortion) {
  GpuAlsNeeds wanted = needs(kHugewiki, 1024);
  wanted.longest_row = 25'000'000;
  wanted.slots = 64;
  const Offset least = least_for(wanted, Placement::kStreamedTables);
  EXPECT_GE(plan_gpu_als(wanted, least).portion_entries, wanted.longest_row);
}

TEST(MemoryPlan, SizesHaveUnits) {
  EXPECT_EQ(size_text(512.0), "0.5 KiB");
  EXPECT_EQ(size_text(1536.0 * 1024), "1.5 MiB");
  EXPECT_EQ(size_text(24.8e9), "23.10 GiB");
}

}  // namespace
}  // namespace likewise
