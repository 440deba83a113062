// SPDX-License-Identifier: Apache-2.0
#include "evaluation/auc_evaluation.h"

#include <algorithm>
#include <vector>

#include "evaluation/metrics.h"

namespace likewise {

double auc_of_user(std::span<float> scores, std::span<const Index> relevant,
                   std::span<const Index> seen) {
  std::vector<float> relevant_scores;
  relevant_scores.reserve(relevant.size());
  std::size_t others = 0;  // the front of `scores` becomes the other items' scores
  auto next_relevant = relevant.begin();
  auto next_seen = seen.begin();
  for (std::size_t item = 0; item < scores.size(); ++item) {
    const auto index = static_cast<Index>(item);
    if (next_seen != seen.end() && *next_seen == index) {
      ++next_seen;
    } else if (next_relevant != relevant.end() && *next_relevant == index) {
      ++next_relevant;
      relevant_scores.push_back(scores[item]);
    } else {
      scores[others++] = scores[item];
    }
  }
  std::sort(relevant_scores.begin(), relevant_scores.end());
  return auc(relevant_scores, scores.first(others));
}

}  // namespace likewise
