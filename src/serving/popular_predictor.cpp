// SPDX-License-Identifier: Apache-2.0
#include "serving/popular_predictor.h"

#include <algorithm>

#include "backends/jobs/device_jobs.h"
#include "likewise/error.h"

namespace likewise {

void PopularPredictor::require_predictions() const {
  if (model().feedback() == Feedback::kImplicit) return;
  throw Error(ErrorKind::kInvalidArgument,
              "popular predicts no ratings, it ranks by shares of users: train with " +
                  mention("algorithm", "bias"));
}

TopKResult PopularPredictor::top_k(std::span<const AskedUser> users, Index n,
                                   const TopKFilter& filter, const RunControl& control) const {
  const Scorer& scorer = scorer_.get([&] {
    return job<TopKJob>(device_).make_scorer(no_factors_.view(), shares_.span(), ScoreKind::kDot);
  });
  const Matrix queries(static_cast<Index>(users.size()), 0);
  return scorer.top_k(queries.view(), n, filter, control);
}

void PopularPredictor::score_all(std::span<const AskedUser> users, float* out) const {
  for (std::size_t u = 0; u < users.size(); ++u) out = std::ranges::copy(shares_, out).out;
}

std::vector<float> PopularPredictor::predict(std::span<const Index> users,
                                             std::span<const Index> items,
                                             const RunControl&) const {
  std::vector<float> scores;
  scores.reserve(users.size());
  for (const Index item : items) scores.push_back(item < 0 ? 0.0F : shares_[item]);
  return scores;
}

}  // namespace likewise
