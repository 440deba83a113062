// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/algorithm.h"

namespace likewise {

template <Side kSide>
[[nodiscard]] TrainingParams knn_defaults(Feedback feedback) {
  return KnnParams::defaults(feedback, kSide);
}

inline constexpr AlgorithmRow kItemKnnRow =
    algorithm_row<KnnParams>("item-knn", "nearest items", knn_defaults<Side::kItems>);
inline constexpr AlgorithmRow kUserKnnRow =
    algorithm_row<KnnParams>("user-knn", "nearest users", knn_defaults<Side::kUsers>);

[[nodiscard]] std::unique_ptr<const Algorithm> make_algorithm(const KnnParams& params);

/// As Algorithm::update().
[[nodiscard]] Refined update_knn(const KnnParams& params, const UpdateTask& task);

}  // namespace likewise
