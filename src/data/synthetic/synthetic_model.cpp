// SPDX-License-Identifier: Apache-2.0
#include "data/synthetic/synthetic_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/system/parallel.h"
#include "data/synthetic/synthetic_streams.h"

namespace likewise {
namespace {

// An item's expected share of the draws, at the ends. The first: so that about half of the users
// have it, as at MovieLens and Netflix, fewer where the catalogue is larger than theirs. The last:
// a hundredth of an average item's.
constexpr double kTopReach = 1.05;
constexpr double kUsualItems = 50000.0;
constexpr double kLastShare = 0.01;
constexpr Index kFewestClusters = 4;
constexpr Index kMostClusters = 64;

// Standard deviations of what makes a rating, in stars.
constexpr float kUserBase = 0.40F;
constexpr float kQuality = 0.35F;
constexpr float kMatch = 0.55F;
constexpr float kNoise = 0.80F;
constexpr float kMeanStars = 3.35F;

// log count = kCountBase + kCountTaste (match + quality) + kCountNoise noise
constexpr float kCountBase = 0.0F;
constexpr float kCountTaste = 0.8F;
constexpr float kCountNoise = 0.9F;
constexpr float kMostCounted = 10000.0F;

// Shares of an item's place that come from its cluster's centre, in variance.
constexpr float kFromCentre = 0.6F;

constexpr std::uint64_t kBits48 = (std::uint64_t{1} << 48) - 1;

Index cluster_count(Index items) {
  const auto wanted = static_cast<Index>(std::sqrt(static_cast<double>(items)) / 8.0);
  return std::min(items, std::clamp(wanted, kFewestClusters, kMostClusters));
}

/// The Zipf-Mandelbrot law that starts at share `top`, ends at `last`, and sums to one.
struct RankLaw {
  double exponent;
  double shift;

  /// top (1 + rank / q)^-s = last at the end: q = items / ((top / last)^(1/s) - 1)
  static RankLaw through(double top, double last, double items, double exponent) {
    return {exponent, items / (std::pow(top / last, 1.0 / exponent) - 1.0)};
  }
  /// The integral of (1 + rank / q)^-s over the ranks.
  [[nodiscard]] double sum(double items) const {
    return shift / (exponent - 1.0) * (1.0 - std::pow(1.0 + items / shift, 1.0 - exponent));
  }
};

RankLaw rank_law(const SyntheticShape& shape) {
  const double items = shape.items;
  const double mean = static_cast<double>(shape.nnz) / shape.users;
  const double reach = kTopReach * std::min(1.0, std::pow(kUsualItems / items, 0.75));
  const double last = kLastShare / items;
  const double top = std::clamp(reach / mean, 2.0 * last, 0.5);
  // A higher exponent at the same ends has the mass further up: the sum rises with it.
  double low = 0.1;
  double high = 8.0;
  for (int step = 0; step < 40; ++step) {
    const double middle = 0.5 * (low + high);
    if (std::abs(middle - 1.0) < 1e-9) break;
    (top * RankLaw::through(top, last, items, middle).sum(items) < 1.0 ? low : high) = middle;
  }
  return RankLaw::through(top, last, items, low);
}

std::vector<double> rank_weights(const SyntheticShape& shape) {
  const RankLaw law = rank_law(shape);
  std::vector<double> weights(static_cast<std::size_t>(shape.items));
  for (std::size_t rank = 0; rank < weights.size(); ++rank) {
    weights[rank] = std::pow(1.0 + static_cast<double>(rank) / law.shift, -law.exponent);
  }
  return weights;
}

std::vector<Index> shuffled(Index items, CounterRandom& random) {
  std::vector<Index> order(static_cast<std::size_t>(items));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

/// Clusters differ in size: c has a share that is proportional to 1 / sqrt(c + 1).
class ClusterSizes {
 public:
  explicit ClusterSizes(std::size_t clusters) : upto_(clusters) {
    double total = 0.0;
    for (std::size_t c = 0; c < clusters; ++c) {
      upto_[c] = total += 1.0 / std::sqrt(static_cast<double>(c + 1));
    }
  }
  [[nodiscard]] std::size_t draw(CounterRandom& random) const {
    const double point = random.uniform() * upto_.back();
    const auto at = std::upper_bound(upto_.begin(), upto_.end(), point) - upto_.begin();
    return std::min(upto_.size() - 1, static_cast<std::size_t>(at));
  }

 private:
  std::vector<double> upto_;
};

/// Nearly normal, mean 0 and variance 1, from the sum of four bytes: the tails end at 3.5, which
/// suits ratings, and it costs no logarithm.
float quick_normal(std::uint32_t bits) {
  constexpr float kMean = 4 * 127.5F;
  constexpr float kDeviation = 147.8F;  // sqrt(4 (256^2 - 1) / 12)
  const std::uint32_t sum = (bits & 255) + (bits >> 8 & 255) + (bits >> 16 & 255) + (bits >> 24);
  return (static_cast<float>(sum) - kMean) / kDeviation;
}

float dot(const SyntheticModel::Vector& a, const SyntheticModel::Vector& b) {
  float sum = 0.0F;
  for (std::size_t f = 0; f < a.size(); ++f) sum += a[f] * b[f];
  return sum;
}

float stars(float value) { return std::clamp(std::floor(value + 0.5F), 1.0F, 5.0F); }

float count(float logarithm) {
  return std::clamp(std::floor(std::exp(logarithm)), 1.0F, kMostCounted);
}

bool take(std::vector<std::uint64_t>& taken, Index item) {
  std::uint64_t& word = taken[static_cast<std::size_t>(item) / 64];
  const std::uint64_t bit = std::uint64_t{1} << (item % 64);
  const bool is_new = (word & bit) == 0;
  word |= bit;
  return is_new;
}

bool is_taken(const std::vector<std::uint64_t>& taken, Index item) {
  return (taken[static_cast<std::size_t>(item) / 64] >> (item % 64) & 1) != 0;
}

/// Sorts what was chosen and clears its bits: by a walk over the bits where the row is not tiny
/// beside the catalogue.
void sort_and_release(std::vector<std::uint64_t>& taken, std::span<Index> columns) {
  if (columns.size() * 8 < taken.size()) {
    std::sort(columns.begin(), columns.end());
    for (const Index item : columns) taken[static_cast<std::size_t>(item) / 64] = 0;
    return;
  }
  std::size_t at = 0;
  for (std::size_t w = 0; w < taken.size(); ++w) {
    for (std::uint64_t word = taken[w]; word != 0; word &= word - 1) {
      columns[at++] = static_cast<Index>(w * 64) + std::countr_zero(word);
    }
    taken[w] = 0;
  }
}

}  // namespace

SyntheticModel::SyntheticModel(const SyntheticShape& shape, std::uint64_t seed)
    : shape_(shape), seed_(seed) {
  rank_items();
  place_items();
}

void SyntheticModel::rank_items() {
  CounterRandom random(seed_, kStreamRanks, 0);
  const std::vector<Index> ranked = shuffled(shape_.items, random);
  const std::vector<double> weight = rank_weights(shape_);
  const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
  const auto clusters = static_cast<std::size_t>(cluster_count(shape_.items));
  const ClusterSizes sizes(clusters);
  popularity_.resize(ranked.size());
  cluster_.resize(ranked.size());
  std::vector<std::vector<Index>> members(clusters);
  for (std::size_t rank = 0; rank < ranked.size(); ++rank) {
    // The most popular items go round, so that no cluster is empty.
    const std::size_t c = rank < clusters ? rank : sizes.draw(random);
    const auto item = static_cast<std::size_t>(ranked[rank]);
    popularity_[item] = static_cast<float>(weight[rank] / sum);
    cluster_[item] = static_cast<std::uint8_t>(c);
    members[c].push_back(ranked[rank]);
  }
  make_tables(members);
}

void SyntheticModel::make_tables(const std::vector<std::vector<Index>>& members) {
  std::vector<float> weights;
  for (const std::vector<Index>& items : members) {
    weights.clear();
    for (const Index item : items) weights.push_back(popularity_[static_cast<std::size_t>(item)]);
    by_cluster_.emplace_back(items, weights);
    mass_.push_back(static_cast<float>(std::accumulate(weights.begin(), weights.end(), 0.0)));
  }
  std::vector<Index> all(popularity_.size());
  std::iota(all.begin(), all.end(), 0);
  by_popularity_.emplace_back(all, popularity_);
}

void SyntheticModel::place_items() {
  CounterRandom random(seed_, kStreamCentres, 0);
  centres_.assign(mass_.size(), {});
  for (Vector& centre : centres_) {
    for (int f = 0; f < kFactors; ++f) {
      centre[static_cast<std::size_t>(f)] = static_cast<float>(random.normal());
    }
  }
  places_.resize(popularity_.size());
  constexpr Offset kGrain = 1024;
  parallel_for(shape_.items, kGrain, [&](Offset item) {
    CounterRandom own(seed_, kStreamPlaces, static_cast<std::uint64_t>(item));
    Vector& place = places_[static_cast<std::size_t>(item)];
    const Vector& centre = centres_[cluster_[static_cast<std::size_t>(item)]];
    for (std::size_t f = 0; f < kFactors; ++f) {
      place[f] = std::sqrt(kFromCentre) * centre[f] +
                 std::sqrt(1.0F - kFromCentre) * static_cast<float>(own.normal());
    }
    place[kFactors] = kQuality * static_cast<float>(own.normal());
  });
}

SyntheticModel::Taste SyntheticModel::taste(Index user, Offset row_size) const {
  CounterRandom random(seed_, kStreamTastes, static_cast<std::uint64_t>(user));
  constexpr std::array<float, kFavourites> kShares{0.6F, 0.3F, 0.1F};
  // A reader of half the catalogue cannot stay within three clusters of it.
  const double crowding = static_cast<double>(row_size) * clusters() / (4.0 * shape_.items);
  const auto strength = static_cast<float>((0.5 + 0.4 * random.uniform()) / (1.0 + crowding));

  Taste taste;
  taste.anything = 1.0F - strength;
  for (std::size_t k = 0; k < kFavourites; ++k) {
    // The cluster of a popular draw: then every cluster gets its mass on average over the users.
    taste.clusters[k] = cluster(by_popularity_.front().draw(random.next_u64() & kBits48));
    taste.weights[k] = strength * kShares[k];
  }
  float norm = 0.0F;
  for (std::size_t f = 0; f < kFactors; ++f) {
    float& x = taste.factors[f];
    x = 0.6F * quick_normal(random.next_u32());
    for (std::size_t k = 0; k < kFavourites; ++k) {
      x += kShares[k] * centres_[static_cast<std::size_t>(taste.clusters[k])][f];
    }
    norm += x * x;
  }
  for (float& x : taste.factors) x *= kMatch / std::sqrt(std::max(norm, 1e-6F));
  taste.factors[kFactors] = 1.0F;
  taste.base = kMeanStars + kUserBase * quick_normal(random.next_u32());
  return taste;
}

float SyntheticModel::planted_value(const Taste& taste, Index item) const {
  const float match = dot(taste.factors, places_[static_cast<std::size_t>(item)]);
  if (shape_.feedback == Feedback::kExplicit) return taste.base + match;
  return kCountBase + kCountTaste * match;
}

/// Draws until the row is full; a drawn item that is there already is drawn again. Gives up where
/// repeats prevail, and returns how many it chose.
Offset SyntheticModel::choose_by_trial(const Taste& taste, CounterRandom& random, Scratch& scratch,
                                       std::span<Index> columns) const {
  // 16 bits of each draw choose the table, 48 the item.
  std::array<std::uint64_t, kFavourites> upto{};
  float sum = 0.0F;
  for (std::size_t k = 0; k < kFavourites; ++k) {
    sum += taste.weights[k];
    upto[k] = static_cast<std::uint64_t>(sum * 0x1p16F);
  }
  // The other way reads the whole catalogue: up to about its price, trials are worth their own.
  const std::size_t trials = std::max(4 * columns.size(), popularity_.size() / 2) + 64;
  std::size_t chosen = 0;
  for (std::size_t trial = 0; trial < trials && chosen < columns.size(); ++trial) {
    const std::uint64_t bits = random.next_u64();
    const std::uint64_t point = bits >> 48;
    const AliasTable* table = &by_popularity_.front();
    for (std::size_t k = kFavourites; k-- > 0;) {
      if (point < upto[k]) table = &by_cluster_[static_cast<std::size_t>(taste.clusters[k])];
    }
    const Index item = table->draw(bits & kBits48);
    if (take(scratch.taken, item)) columns[chosen++] = item;
  }
  return static_cast<Offset>(chosen);
}

/// The same law in one pass over the catalogue: of exponential waiting times with rates w, the
/// smallest belong to a weighted draw without replacement (Efraimidis, Spirakis 2006).
void SyntheticModel::choose_by_keys(const Taste& taste, CounterRandom& random, Scratch& scratch,
                                    std::span<Index> rest) const {
  std::array<float, kMostClusters> rate{};
  for (std::size_t c = 0; c < mass_.size(); ++c) rate[c] = taste.anything;
  for (std::size_t k = 0; k < kFavourites; ++k) {
    const auto c = static_cast<std::size_t>(taste.clusters[k]);
    rate[c] += taste.weights[k] / mass_[c];
  }
  auto& keys = scratch.keys;
  keys.clear();
  for (Index item = 0; item < shape_.items; ++item) {
    const float uniform = (static_cast<float>(random.next_u32() >> 8) + 0.5F) * 0x1p-24F;
    if (is_taken(scratch.taken, item)) continue;
    const auto i = static_cast<std::size_t>(item);
    keys.emplace_back(-std::log(uniform) / (popularity_[i] * rate[cluster_[i]]), item);
  }
  if (rest.size() < keys.size()) {
    std::nth_element(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(rest.size()),
                     keys.end());
  }
  for (std::size_t i = 0; i < rest.size(); ++i) {
    rest[i] = keys[i].second;
    take(scratch.taken, rest[i]);
  }
}

void SyntheticModel::choose_items(const Taste& taste, CounterRandom& random, Scratch& scratch,
                                  std::span<Index> columns) const {
  scratch.taken.resize((static_cast<std::size_t>(shape_.items) + 63) / 64);
  const auto size = static_cast<Offset>(columns.size());
  const bool trial_pays = size * 8 < shape_.items;
  const Offset chosen = trial_pays ? choose_by_trial(taste, random, scratch, columns) : 0;
  if (chosen < size) {
    choose_by_keys(taste, random, scratch, columns.subspan(static_cast<std::size_t>(chosen)));
  }
  sort_and_release(scratch.taken, columns);
}

void SyntheticModel::fill_row(Index user, Scratch& scratch, std::span<Index> columns,
                              std::span<float> values) const {
  if (columns.empty()) return;
  const Taste taste = this->taste(user, static_cast<Offset>(columns.size()));
  CounterRandom random(seed_, kStreamRows, static_cast<std::uint64_t>(user));
  choose_items(taste, random, scratch, columns);
  const bool rated = shape_.feedback == Feedback::kExplicit;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const float planted = planted_value(taste, columns[i]);
    const float noise = quick_normal(random.next_u32());
    values[i] = rated ? stars(planted + kNoise * noise) : count(planted + kCountNoise * noise);
  }
}

}  // namespace likewise
