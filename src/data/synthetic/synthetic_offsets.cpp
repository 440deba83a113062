// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numeric>
#include <vector>

#include "core/random.h"
#include "core/system/parallel.h"
#include "data/synthetic/synthetic_model.h"
#include "data/synthetic/synthetic_streams.h"

namespace likewise {
namespace {

constexpr Offset kUsersPerBlock = Offset{1} << 14;
constexpr double kSigma = 1.2;       // of the logarithm of a user's count: MovieLens and Netflix
constexpr double kFloorShare = 7.0;  // mean / floor: 144 / 20 at MovieLens-20M
constexpr double kHighestFloor = 20.0;

/// How much a user of a given weight consumes when all are scaled by `scale`.
struct CountRule {
  double floor;
  double room;  ///< from the floor to the catalogue's size

  /// floor + room x / sqrt(1 + x^2), x = scale w / room: proportional at first, never past `items`
  [[nodiscard]] Index operator()(float weight, float scale) const {
    const double inverse = room / (static_cast<double>(scale) * weight);
    return static_cast<Index>(floor + room / std::sqrt(1.0 + inverse * inverse));
  }
};

CountRule rule_for(const SyntheticShape& shape) {
  const double mean = static_cast<double>(shape.nnz) / shape.users;
  const double floor = std::floor(std::min(kHighestFloor, mean / kFloorShare));
  return {floor, shape.items - floor};
}

Array<float> draw_weights(Index users, std::uint64_t seed) {
  auto weights = Array<float>::uninitialized(users);
  parallel_for(users, kUsersPerBlock, [&](Offset user) {
    CounterRandom random(seed, kStreamCounts, static_cast<std::uint64_t>(user));
    weights[user] = static_cast<float>(std::exp(kSigma * random.normal()));
  });
  return weights;
}

Offset total_count(const Array<float>& weights, const CountRule& rule, float scale) {
  std::vector<Offset> sums(
      static_cast<std::size_t>((weights.size() + kUsersPerBlock - 1) / kUsersPerBlock));
  parallel_blocks(weights.size(), kUsersPerBlock, [&](Offset begin, Offset end, Offset block) {
    Offset sum = 0;
    for (Offset user = begin; user < end; ++user) sum += rule(weights[user], scale);
    sums[static_cast<std::size_t>(block)] = sum;
  });
  return std::accumulate(sums.begin(), sums.end(), Offset{0});
}

/// The largest scale, to float precision, whose counts sum to at most nnz.
float solve_scale(const Array<float>& weights, const CountRule& rule, Offset nnz) {
  float low = 0.0F;
  float high = 1.0F;
  while (high < 1e30F && total_count(weights, rule, high) <= nnz) {
    low = high;
    high *= 2.0F;
  }
  while (true) {
    const float middle = low + (high - low) / 2.0F;
    if (middle <= low || middle >= high || high < 1e-30F) return low;
    const Offset total = total_count(weights, rule, middle);
    if (total == nnz) return middle;
    (total < nnz ? low : high) = middle;
  }
}

/// Hands what is missing to users in turn, from a random one on, past those who have everything.
void hand_out(Array<Offset>& counts, Offset missing, Index items, std::uint64_t seed) {
  const Offset users = counts.size();
  CounterRandom random(seed, kStreamRemainder, 0);
  auto user = static_cast<Offset>(random.below(static_cast<std::uint64_t>(users)));
  while (missing > 0) {
    if (counts[user] < items) {
      ++counts[user];
      --missing;
    }
    user = user + 1 == users ? 0 : user + 1;
  }
}

}  // namespace

Array<Offset> synthetic_offsets(const SyntheticShape& shape, std::uint64_t seed) {
  const CountRule rule = rule_for(shape);
  const Array<float> weights = draw_weights(shape.users, seed);
  const float scale = solve_scale(weights, rule, shape.nnz);
  auto counts = Array<Offset>::uninitialized(shape.users);
  parallel_for(shape.users, kUsersPerBlock,
               [&](Offset user) { counts[user] = rule(weights[user], scale); });
  const Offset given = std::accumulate(counts.begin(), counts.end(), Offset{0});
  hand_out(counts, shape.nnz - given, shape.items, seed);

  Array<Offset> offsets(Offset{shape.users} + 1);
  std::partial_sum(counts.begin(), counts.end(), offsets.begin() + 1);
  return offsets;
}

}  // namespace likewise
