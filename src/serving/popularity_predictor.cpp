// SPDX-License-Identifier: Apache-2.0
#include "serving/popularity_predictor.h"

#include <algorithm>

namespace likewise {

TopKResult PopularityPredictor::top_k(std::span<const AskedUser> users, Index n,
                                      const TopKFilter& filter, const RunControl& control) const {
  const Scorer& scorer =
      scorer_.get([&] { return backend_.make_scorer(no_factors_.view(), shares_.span()); });
  const Matrix queries(static_cast<Index>(users.size()), 0);
  return scorer.top_k(queries.view(), n, filter, control);
}

void PopularityPredictor::score_all(std::span<const AskedUser> users, float* out) const {
  for (std::size_t u = 0; u < users.size(); ++u) out = std::ranges::copy(shares_, out).out;
}

std::vector<float> PopularityPredictor::predict(std::span<const Index> users,
                                                std::span<const Index> items) const {
  std::vector<float> scores;
  scores.reserve(users.size());
  for (const Index item : items) scores.push_back(item < 0 ? 0.0F : shares_[item]);
  return scores;
}

}  // namespace likewise
