// SPDX-License-Identifier: Apache-2.0
#include "likewise/neighbourhood.h"

#include <random>

#include <gtest/gtest.h>

#include "algorithms/similarity.h"
#include "tests/support.h"

namespace likewise {
namespace {

constexpr Similarity kAll[] = {
    Similarity::kCosine,        Similarity::kAdjustedCosine,  Similarity::kPearson,
    Similarity::kPearsonFull,   Similarity::kPearsonBaseline, Similarity::kMsd,
    Similarity::kJaccard,       Similarity::kTfidf,           Similarity::kBm25,
    Similarity::kLogLikelihood, Similarity::kConditional};

void expect_same(const Neighbours& a, const Neighbours& b) {
  ASSERT_EQ(a.size(), b.size());
  for (Index row = 0; row < a.size(); ++row) {
    ASSERT_TRUE(std::ranges::equal(a.rows_of(row), b.rows_of(row))) << "row " << row;
    ASSERT_TRUE(std::ranges::equal(a.similarities_of(row), b.similarities_of(row)))
        << "row " << row;
  }
}

/// Empty rows and columns, one column that everybody has, constant rows, values of a kind.
CsrMatrix awkward(Index rows, Index cols, double per_row, bool whole_values, std::uint64_t seed) {
  CsrMatrix m = test::random_csr(rows, cols, per_row, seed);
  std::mt19937_64 random(seed);
  std::vector<Entry> entries;
  for (Index r = 0; r < rows; ++r) {
    if (r % 7 == 3) continue;
    entries.push_back({r, 0, 2.0F});
    for (Offset e = m.offsets[r]; e < m.offsets[r + 1]; ++e) {
      if (m.columns[e] == 0 || m.columns[e] == cols - 1) continue;
      const float value = whole_values ? m.values[e] : m.values[e] + 0.001F * (random() % 1000);
      entries.push_back({r, m.columns[e], r % 5 == 2 ? 3.0F : value});
    }
  }
  return make_csr(rows, cols, entries);
}

void check_all(const CsrView& matrix, Index k) {
  const auto reference = open_backend("reference");
  const auto cpu = open_backend("cpu");
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    for (const Side side : {Side::kUsers, Side::kItems}) {
      for (const Similarity similarity : kAll) {
        for (const bool plain : {true, false}) {
          NeighbourParams params;
          params.feedback = feedback;
          params.side = side;
          params.similarity = similarity;
          params.neighbours = k;
          if (feedback == Feedback::kImplicit && similarity == Similarity::kPearsonBaseline)
            continue;
          if (!plain) {
            params.min_support = 2;
            params.shrinkage = 3.0;
            params.amplification = 1.5;
            params.keep_negative = true;
            params.centring = Side::kItems;
          }
          SCOPED_TRACE(testing::Message() << "similarity " << static_cast<int>(similarity) << " of "
                                          << side_name(side) << (plain ? "" : ", every option"));
          expect_same(train_neighbours(matrix, params, *cpu).neighbours,
                      train_neighbours(matrix, params, *reference).neighbours);
        }
      }
    }
  }
}

TEST(NeighbourSearch, EqualsTheReferenceOnAwkwardMatrices) {
  check_all(make_csr(0, 0, {}).view(), 3);
  check_all(make_csr(1, 1, {}).view(), 3);
  check_all(awkward(1, 4, 2.0, true, 1).view(), 3);
  check_all(awkward(2, 9, 5.0, false, 2).view(), 1);
  check_all(awkward(61, 37, 6.0, true, 3).view(), 5);
  check_all(awkward(37, 90, 11.0, false, 4).view(), 1000);
  check_all(awkward(300, 40, 3.0, true, 5).view(), 17);
  check_all(awkward(40, 700, 30.0, false, 6).view(), 10);
}

}  // namespace
}  // namespace likewise
