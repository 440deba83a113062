// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/algorithm.h"
#include "likewise/csr.h"

namespace likewise {

inline constexpr AlgorithmRow kPopularRow =
    algorithm_row<PopularParams>("popular", "the popularity baseline");

[[nodiscard]] std::unique_ptr<const Algorithm> make_algorithm(const PopularParams& params);

[[nodiscard]] Popularity train_popular(const CsrView& by_user, const PopularParams& params);

}  // namespace likewise
