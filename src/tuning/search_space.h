// SPDX-License-Identifier: Apache-2.0
/// The parameters of an algorithm that are searched, as points of a unit cube.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "likewise/parameters.h"

namespace likewise {

using Point = std::vector<double>;  ///< a coordinate in [0, 1) for each dimension

class SearchSpace {
 public:
  /// `usual`: the defaults for the data, as with_data_defaults(). Throws Error(kInvalidArgument)
  /// where their algorithm has nothing to search.
  SearchSpace(TrainingParams usual, std::uint64_t seed);

  [[nodiscard]] std::string_view algorithm() const { return algorithm_name(usual_); }
  [[nodiscard]] const TrainingParams& usual() const { return usual_; }
  /// Those of the usual parameters.
  [[nodiscard]] int usual_iterations() const;
  /// The usual parameters with the fewest factors that are searched; nothing where there are none,
  /// or no fewer.
  [[nodiscard]] std::optional<TrainingParams> smallest() const;
  /// Of the longest training; 0 where there are none.
  [[nodiscard]] int most_iterations() const { return most_iterations_; }

  /// Numbers have three digits. Parameters without effect are the usual ones.
  [[nodiscard]] TrainingParams at(const Point& point) const;
  /// Where at() gives the nearest; the middle for what is not in the space.
  [[nodiscard]] Point point_of(const TrainingParams& params) const;

  /// The n-th point of the quasi-random sequence, from 0.
  [[nodiscard]] Point quasi_random(int n) const;
  /// The n-th point drawn about `centre`.
  [[nodiscard]] Point near(const Point& centre, double spread, int n) const;

 private:
  [[nodiscard]] SearchedParameter found(const TrainingParams& params, std::string_view name) const;

  TrainingParams usual_;
  int most_iterations_ = 0;
  std::vector<std::string_view> dimensions_;  ///< names
  std::vector<std::size_t> choices_;          ///< of each dimension how many; 0: a number
  std::uint64_t seed_;
  std::uint32_t stream_;  ///< of random numbers: another one for each algorithm
};

/// `params`, from the space about `usual`, for that about `other`: what is searched in another
/// range there has its place in that one, as the weights of ALS, which are searched about what
/// suits the data. The others stay as they are.
[[nodiscard]] TrainingParams moved(const TrainingParams& params, const TrainingParams& usual,
                                   const TrainingParams& other);

}  // namespace likewise
