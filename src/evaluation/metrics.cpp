// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/system/parallel.h"

namespace likewise {
namespace {

/// The first k places, or as many as there are.
std::span<const std::uint8_t> top(const RankedList& list, Index k) {
  return list.hits.first(std::min(list.hits.size(), static_cast<std::size_t>(k)));
}

double hits_at(const RankedList& list, Index k) {
  const auto places = top(list, k);
  return static_cast<double>(std::count(places.begin(), places.end(), 1));
}

/// min(k, relevant): the hits of the best list possible.
Offset attainable(const RankedList& list, Index k) { return std::min<Offset>(k, list.relevant); }

/// discount(r) = 1 / log2(r + 1) for places r = 1, 2, ...
double discount(std::size_t place) { return 1.0 / std::log2(static_cast<double>(place) + 1.0); }

}  // namespace

// hits / k
double precision_at(const RankedList& list, Index k) { return hits_at(list, k) / k; }

// hits / relevant
double recall_at(const RankedList& list, Index k) {
  return hits_at(list, k) / static_cast<double>(list.relevant);
}

// hits / min(k, relevant)
double truncated_recall_at(const RankedList& list, Index k) {
  return hits_at(list, k) / static_cast<double>(attainable(list, k));
}

// [hits > 0]
double hit_rate_at(const RankedList& list, Index k) { return hits_at(list, k) > 0.0 ? 1.0 : 0.0; }

// 1 / min(k, relevant) * sum over hits at places r <= k of (hits in the first r) / r
double average_precision_at(const RankedList& list, Index k) {
  double sum = 0.0;
  double hits = 0.0;
  const auto places = top(list, k);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] == 0) continue;
    hits += 1.0;
    sum += hits / static_cast<double>(i + 1);
  }
  return sum / static_cast<double>(attainable(list, k));
}

// 1 / (place of the first hit), 0 without one
double reciprocal_rank_at(const RankedList& list, Index k) {
  const auto places = top(list, k);
  const auto first = std::find(places.begin(), places.end(), 1);
  return first == places.end() ? 0.0 : 1.0 / static_cast<double>(first - places.begin() + 1);
}

// (sum over hits at places r <= k of 1 / log2(r + 1)) / (sum over r <= min(k, relevant) of the
// same)
double ndcg_at(const RankedList& list, Index k) {
  double gain = 0.0;
  const auto places = top(list, k);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] != 0) gain += discount(i + 1);
  }
  double ideal = 0.0;
  const auto best = static_cast<std::size_t>(attainable(list, k));
  for (std::size_t i = 0; i < best; ++i) ideal += discount(i + 1);
  return gain / ideal;
}

// mean share of users over the first k items; 0 for an empty list
double popularity_at(const RankedList& list, Index k) {
  const auto items = list.items.first(top(list, k).size());
  double sum = 0.0;
  for (const Index item : items) sum += list.popularity[static_cast<std::size_t>(item)];
  return items.empty() ? 0.0 : sum / static_cast<double>(items.size());
}

// (pairs with s_relevant > s_other, ties counting half) / (relevant * others)
double auc(std::span<const float> relevant, std::span<const float> others) {
  if (relevant.empty() || others.empty()) return 0.5;
  Offset half_wins = 0;  // in integers: exact, and the same in any order
  for (const float score : others) {
    const auto [equal, above] = std::equal_range(relevant.begin(), relevant.end(), score);
    half_wins += 2 * (relevant.end() - above) + (above - equal);
  }
  return static_cast<double>(half_wins) /
         (2.0 * static_cast<double>(relevant.size()) * static_cast<double>(others.size()));
}

RatingErrors& RatingErrors::operator+=(const RatingErrors& part) {
  squares += part.squares;
  absolutes += part.absolutes;
  count += part.count;
  return *this;
}

// sqrt(1/n sum (prediction - value)^2)
double RatingErrors::rmse() const { return std::sqrt(squares / static_cast<double>(count)); }

// 1/n sum |prediction - value|
double RatingErrors::mae() const { return absolutes / static_cast<double>(count); }

RatingErrors rating_errors(std::span<const float> predicted, std::span<const float> actual) {
  constexpr Offset kBlock = 1 << 14;
  const Offset pairs = std::ssize(actual);
  std::vector<RatingErrors> parts(static_cast<std::size_t>((pairs + kBlock - 1) / kBlock));
  parallel_blocks(pairs, kBlock, [&](Offset begin, Offset end, Offset block) {
    RatingErrors part;
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const double difference = static_cast<double>(predicted[i]) - static_cast<double>(actual[i]);
      part.squares += difference * difference;
      part.absolutes += std::abs(difference);
    }
    part.count = end - begin;
    parts[static_cast<std::size_t>(block)] = part;
  });
  RatingErrors errors;
  for (const RatingErrors& part : parts) errors += part;
  return errors;
}

}  // namespace likewise
