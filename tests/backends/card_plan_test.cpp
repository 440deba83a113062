// SPDX-License-Identifier: Apache-2.0
/// What a training takes of a card: needs none.
#include "backends/card_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/memory_plan.h"
#include "likewise/error.h"

namespace likewise {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr Offset kGibibyte = Offset{1} << 30;
constexpr Offset kEnough = Offset{1} << 50;

/// As the CUDA plug-in asks at `columns` columns in float16.
[[nodiscard]] CardAlsNeeds needs(const AlsShape& shape, int columns) {
  CardAlsNeeds wanted;
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

/// The least memory that a level is chosen with: one byte less, and it is not.
[[nodiscard]] Offset least_for(const CardAlsNeeds& wanted, CardLevel level) {
  Offset low = 0;  // too little
  Offset high = kEnough;
  while (high - low > 1) {
    const Offset middle = low + (high - low) / 2;
    bool enough = false;
    try {
      enough = plan_card_als(wanted, middle).level <= level;
    } catch (const Error&) {
    }
    (enough ? high : low) = middle;
  }
  return high;
}

TEST(CardPlan, WhatFitsStaysOnTheCard) {
  const CardAlsPlan plan = plan_card_als(needs(kNetflix, 128), 139 * kGibibyte);
  EXPECT_EQ(plan.level, CardLevel::kResident);
  EXPECT_GE(plan.block_rows, kNetflix.users);  // in one go
  EXPECT_EQ(plan.portion_entries, kNetflix.interactions);
  EXPECT_EQ(plan.transpose_entries, kNetflix.interactions);
  EXPECT_LT(plan.memory.total, 8 * kGibibyte);
}

/// 25 GB of interactions each way and 22 GB of factors.
TEST(CardPlan, HugewikiFitsACardOf141GigabytesWhole) {
  const CardAlsPlan plan = plan_card_als(needs(kHugewiki, 112), 139 * kGibibyte);
  EXPECT_EQ(plan.level, CardLevel::kResident);
  EXPECT_LT(plan.memory.total, 100 * kGibibyte);
  EXPECT_LT(plan.memory.machine, kGibibyte);
}

TEST(CardPlan, ThePartsAreTheTotal) {
  for (const Offset available : {139 * kGibibyte, 60 * kGibibyte, 30 * kGibibyte}) {
    const MemoryPlan memory = plan_card_als(needs(kHugewiki, 112), available).memory;
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

TEST(CardPlan, EveryLevelHasItsBoundary) {
  for (const AlsShape& shape : {AlsShape{40000, 7, 80000}, kNetflix, kHugewiki}) {
    for (const int columns : {16, 112, 256}) {
      SCOPED_TRACE(testing::Message() << shape.users << " users, " << columns << " columns");
      const CardAlsNeeds wanted = needs(shape, columns);
      Offset before = kEnough;
      for (const CardLevel level :
           {CardLevel::kResident, CardLevel::kStreamedMatrix, CardLevel::kStreamedTables}) {
        const Offset least = least_for(wanted, level);
        EXPECT_LE(least, before);
        before = least;
        const CardAlsPlan plan = plan_card_als(wanted, least);
        EXPECT_LE(plan.level, level);
        EXPECT_EQ(plan.memory.total, least);  // it takes all that there is
        if (level != CardLevel::kStreamedTables) {
          EXPECT_GT(plan_card_als(wanted, least - 1).level, level);
          continue;
        }
        try {
          (void)plan_card_als(wanted, least - 1);
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

/// What is streamed is held by the machine, but for the factors, which are there anyway.
TEST(CardPlan, StreamedInteractionsAreCountedOnTheMachine) {
  const CardAlsNeeds wanted = needs(kHugewiki, 112);
  const CardAlsPlan streamed = plan_card_als(wanted, 60 * kGibibyte);
  EXPECT_EQ(streamed.level, CardLevel::kStreamedMatrix);
  EXPECT_GT(streamed.memory.machine, 8 * kHugewiki.interactions);
  EXPECT_LT(streamed.portion_entries, kHugewiki.interactions);
  EXPECT_EQ(streamed.transpose_entries, 0);
}

TEST(CardPlan, BuffersShrinkBeforeALevelIsGivenUp) {
  const CardAlsNeeds wanted = needs(kHugewiki, 112);
  const Offset roomy = plan_card_als(wanted, kEnough).memory.total;
  const CardAlsPlan tight = plan_card_als(wanted, roomy - 1);
  EXPECT_EQ(tight.level, CardLevel::kResident);
  EXPECT_LT(tight.memory.total, roomy);
  EXPECT_GE(tight.block_rows, kLeastBlockRows);
  EXPECT_EQ(tight.block_rows % kLeastBlockRows, 0);
  EXPECT_GE(tight.portion_entries, 2 * wanted.piece);
}

/// A launch must hold its rows whole where they cannot be cut.
TEST(CardPlan, WholeRowsFitAPortion) {
  CardAlsNeeds wanted = needs(kHugewiki, 1024);
  wanted.longest_row = 25'000'000;
  wanted.slots = 64;
  const Offset least = least_for(wanted, CardLevel::kStreamedTables);
  EXPECT_GE(plan_card_als(wanted, least).portion_entries, wanted.longest_row);
}

TEST(MemoryPlan, SizesHaveUnits) {
  EXPECT_EQ(size_text(512.0), "0.5 KiB");
  EXPECT_EQ(size_text(1536.0 * 1024), "1.5 MiB");
  EXPECT_EQ(size_text(24.8e9), "23.10 GiB");
}

}  // namespace
}  // namespace likewise
