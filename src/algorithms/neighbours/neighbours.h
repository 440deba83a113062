// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/algorithm.h"

namespace likewise {

template <Side kSide>
[[nodiscard]] TrainingParams neighbour_defaults(Feedback feedback) {
  return NeighbourParams::defaults(feedback, kSide);
}

inline constexpr AlgorithmRow kItemKnnRow =
    algorithm_row<NeighbourParams>("item-knn", "nearest items", neighbour_defaults<Side::kItems>);
inline constexpr AlgorithmRow kUserKnnRow =
    algorithm_row<NeighbourParams>("user-knn", "nearest users", neighbour_defaults<Side::kUsers>);

[[nodiscard]] std::unique_ptr<const Algorithm> make_algorithm(const NeighbourParams& params);

/// As Algorithm::update().
[[nodiscard]] Refined update_neighbours(const NeighbourParams& params, const UpdateTask& task);

}  // namespace likewise
