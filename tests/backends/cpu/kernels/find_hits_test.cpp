// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/find_hits.h"

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/system/instruction_set.h"
#include "likewise/array.h"

namespace likewise {
namespace {

using kernels::ByteGroup;
using kernels::ByteQuery;
using kernels::kGroupFactors;
using kernels::kPanelItems;

using FindHits = decltype(kernels::find_hits_bytes);

/// Random bytes, compared with sums made one by one. `apart`: the queries that are taken of all.
void expect_plain_sums(FindHits* find_hits, Index groups, Index count, Index apart, bool biased) {
  std::mt19937 random(static_cast<unsigned>(groups * 100 + count));
  std::uniform_int_distribution<int> byte(0, 255);
  Array<std::uint8_t> panel(Offset{groups} * kPanelItems * kGroupFactors);
  for (std::uint8_t& b : panel) b = static_cast<std::uint8_t>(byte(random));
  Array<ByteGroup> factors(Offset{groups} * (count * apart + 3));
  auto* const signed_bytes = reinterpret_cast<std::int8_t*>(factors.data());
  for (Offset i = 0; i < factors.size() * kGroupFactors; ++i) {
    signed_bytes[i] = static_cast<std::int8_t>(byte(random) % 255 - 127);
  }
  Array<float> bias(kPanelItems);
  for (float& b : bias) b = static_cast<float>(byte(random)) - 100.0F;

  std::vector<ByteQuery> queries;
  std::vector<std::int32_t> thresholds;
  std::vector<std::uint64_t> wanted;
  for (Index q = 0; q < count; ++q) {
    // Not equally far apart where `apart` is more than 1.
    const Offset at = Offset{q} * apart + (apart > 1 ? q % 3 : 0);
    queries.push_back({factors.data() + at * groups, 1.0F + static_cast<float>(q)});
    std::vector<std::int64_t> sums;
    for (Index i = 0; i < kPanelItems; ++i) {
      std::int64_t sum = biased ? std::llrint(queries.back().bias_scale * bias[i]) : 0;
      for (Index j = 0; j < groups * kGroupFactors; ++j) {
        const Offset item = (Offset{j / kGroupFactors} * kPanelItems + i) * kGroupFactors;
        sum += std::int64_t{signed_bytes[at * groups * kGroupFactors + j]} *
               panel[item + j % kGroupFactors];
      }
      sums.push_back(sum);
    }
    // As high as one of them: it is a hit, one below is none. Some queries have no hits.
    const std::int64_t least = sums[static_cast<std::size_t>(q * 7 % kPanelItems)];
    thresholds.push_back(static_cast<std::int32_t>(q % 4 == 3 ? 1 << 30 : least));
    std::uint64_t hits = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] >= thresholds.back()) hits |= std::uint64_t{1} << i;
    }
    wanted.push_back(hits);
  }
  std::vector<std::uint64_t> found(static_cast<std::size_t>(count), 99);
  find_hits(panel.data(), biased ? bias.data() : nullptr, groups, queries.data(), thresholds.data(),
            count, found.data());
  EXPECT_EQ(found, wanted) << groups << " groups, " << count << " queries, " << apart << " apart"
                           << (biased ? ", biased" : "");
}

void expect_plain_sums(FindHits* find_hits) {
  for (const Index groups : {1, 2, 15, 16, 17, 32, 33, 1024}) {
    for (const Index count : {1, 2, 6, 15, 16, 17, 31, 32, 33, 96}) {
      if (groups == 1024 && count > 17) continue;
      for (const Index apart : {1, 2}) {
        expect_plain_sums(find_hits, groups, count, apart, false);
        expect_plain_sums(find_hits, groups, count, apart, true);
      }
    }
  }
}

TEST(FindHitsInBytes, EqualsPlainSums) {
  (void)chosen_target();
  if (!kernels::has_byte_dot_products()) GTEST_SKIP() << "this processor has no VNNI";
  expect_plain_sums(kernels::find_hits_bytes);
}

TEST(FindHitsInTiles, EqualsPlainSums) {
  (void)chosen_target();
  if (!kernels::has_byte_tiles()) GTEST_SKIP() << "this processor has no AMX";
  expect_plain_sums(kernels::find_hits_tiles);
}

}  // namespace
}  // namespace likewise
