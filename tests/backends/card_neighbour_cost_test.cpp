// SPDX-License-Identifier: Apache-2.0
#include "backends/card_neighbour_cost.h"

#include <cmath>

#include <gtest/gtest.h>

namespace likewise {
namespace {

CudaCard card() {
  CudaCard card{"Fine Card", 9, 0, Offset{140} << 30, {}, {}};
  card.facts = {132, 1.98e9, 4.8e12, Offset{60} << 20, 233'472, 232'448};
  return card;
}

/// Rows of which every cell is filled with this probability.
NeighbourWork filled(Index rows, Index cols, double fill) {
  NeighbourWork work{rows, cols, 0, 0.0, 1, 16, 20, true};
  work.entries = static_cast<Offset>(fill * rows * cols);
  work.common = fill * fill * rows * rows * cols;
  return work;
}

bool takes_dense(const NeighbourWork& work) {
  return card_neighbour_cost(work, card()).takes_dense();
}

TEST(CardNeighbourCost, FullMatricesGoByProductsAndThinOnesDoNot) {
  EXPECT_TRUE(takes_dense(filled(4800, 3200, 1.0)));
  EXPECT_TRUE(takes_dense(filled(400, 4800, 1.0)));
  EXPECT_FALSE(takes_dense(filled(4800, 3200, 0.001)));
  NeighbourWork movies{26'744, 138'493, 20'000'263, 9.11e9, 1, 16, 20, true};
  EXPECT_FALSE(takes_dense(movies));
}

TEST(CardNeighbourCost, ThereIsOneBoundary) {
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

TEST(CardNeighbourCost, WhatCannotBeIsNotTaken) {
  NeighbourWork common = filled(4800, 3200, 1.0);
  common.dense_can = false;
  EXPECT_TRUE(std::isinf(card_neighbour_cost(common, card()).dense));
  CudaCard small = card();
  small.memory = Offset{4800} * 3200 * 11;  // less than twice the 6 bytes of a cell
  EXPECT_TRUE(std::isinf(card_neighbour_cost(filled(4800, 3200, 1.0), small).dense));
}

TEST(CardNeighbourCost, MoreSumsAndMoreTilesTakeLonger) {
  const NeighbourWork one = filled(4800, 3200, 0.5);
  NeighbourWork six = one;
  six.sums = 6;
  NeighbourWork cut = one;
  cut.tiles = 96;
  const double usual = card_neighbour_cost(one, card()).sparse;
  EXPECT_GT(card_neighbour_cost(six, card()).sparse, 1.5 * usual);
  EXPECT_GT(card_neighbour_cost(cut, card()).sparse, 1.5 * usual);
}

}  // namespace
}  // namespace likewise
