// SPDX-License-Identifier: Apache-2.0
/// The planted world behind synthetic data: who consumes how much, what, and how it is valued.
///
///   how much  counts of users: log-normal above a floor, bent towards the catalogue's size, with
///             an exact sum
///   what      P(item | user) = (1 - a) p_item + a sum_c m_uc [cluster(item) = c] p_item / mass_c,
///             drawn without replacement; p is Zipf-Mandelbrot: p ~ (rank + q)^-s. A user has up to
///             three favourite clusters and weight m_uc for each.
///   value     base_u + quality_i + x_u . y_i + noise, as 1..5 stars or as a count; y_i lies around
///             its cluster's centre, x_u points towards the centres of the favourites.
///
/// Every row is a pure function of (shape, seed, user): any thread, or a stream that never holds
/// the whole matrix, makes any row in any order.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"
#include "data/synthetic/alias_table.h"
#include "likewise/array.h"
#include "likewise/synthetic.h"

namespace likewise {

/// Where each user's row begins: users + 1 offsets, the last is nnz. Every row has at most `items`.
[[nodiscard]] Array<Offset> synthetic_offsets(const SyntheticShape& shape, std::uint64_t seed);

class SyntheticModel {
 public:
  static constexpr int kFactors = 7;
  static constexpr int kFavourites = 3;
  /// Factors and, last, what the other side multiplies by one (an item's quality).
  using Vector = std::array<float, kFactors + 1>;

  struct Taste {
    std::array<Index, kFavourites> clusters{};
    std::array<float, kFavourites> weights{};  ///< a * m_uc
    float anything = 1.0F;                     ///< 1 - a: drawn by popularity alone
    Vector factors{};
    float base = 0.0F;
  };

  /// What a thread keeps between rows.
  struct Scratch {
    std::vector<std::uint64_t> taken;  ///< one bit per item, all clear between rows
    std::vector<std::pair<float, Index>> keys;
  };

  SyntheticModel(const SyntheticShape& shape, std::uint64_t seed);

  /// Fills the row of a user with columns.size() different items, sorted, and their values.
  void fill_row(Index user, Scratch& scratch, std::span<Index> columns,
                std::span<float> values) const;

  /// `row_size` matters: who consumes much of the catalogue cannot be choosy.
  [[nodiscard]] Taste taste(Index user, Offset row_size) const;
  [[nodiscard]] Index cluster(Index item) const { return cluster_[static_cast<std::size_t>(item)]; }
  [[nodiscard]] Index clusters() const { return static_cast<Index>(by_cluster_.size()); }
  /// The value before noise and rounding.
  [[nodiscard]] float planted_value(const Taste& taste, Index item) const;

 private:
  void rank_items();
  void make_tables(const std::vector<std::vector<Index>>& members);
  void place_items();
  void choose_items(const Taste& taste, CounterRandom& random, Scratch& scratch,
                    std::span<Index> columns) const;
  Offset choose_by_trial(const Taste& taste, CounterRandom& random, Scratch& scratch,
                         std::span<Index> columns) const;
  void choose_by_keys(const Taste& taste, CounterRandom& random, Scratch& scratch,
                      std::span<Index> rest) const;

  SyntheticShape shape_;
  std::uint64_t seed_;
  std::vector<float> popularity_;      // p of each item, sums to 1
  std::vector<std::uint8_t> cluster_;  // of each item
  std::vector<float> mass_;            // of each cluster: its items' popularity
  std::vector<Vector> centres_;        // of each cluster
  std::vector<Vector> places_;         // of each item
  std::vector<AliasTable> by_cluster_;
  std::vector<AliasTable> by_popularity_;  // one table
};

}  // namespace likewise
