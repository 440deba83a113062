// SPDX-License-Identifier: Apache-2.0
#include "serving/bias_predictor.h"

#include <fmt/format.h>

#include "algorithms/algorithm.h"
#include "algorithms/bias/row_bias.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/error.h"

namespace likewise {
namespace {

[[nodiscard]] double bias_of(const Array<float>& biases, Index index) {
  return index < 0 || biases.empty() ? 0.0 : double{biases[index]};
}

}  // namespace

BiasPredictor::BiasPredictor(const Model& model, const Biases& learned, const Device& device,
                             bool clip)
    : Predictor(model),
      learned_(learned),
      params_(algorithm_of(model.params)->scores_of_biases()),
      device_(device),
      on_scale_(model.history.values.span(), clip) {}

double BiasPredictor::level_of(const AskedUser& user) const {
  const double mean{learned_.mean};
  if (user.number >= 0) return mean + bias_of(learned_.users, user.number);
  if (!params_.of_users()) return mean;
  const bool is_mean = params_.baseline == BiasKind::kUserMean;
  return mean + row_bias(
                    user.items, user.values, mean,
                    [&](Index item) { return bias_of(learned_.items, item); },
                    is_mean ? 0.0 : params_.baseline_user_regularization);
}

void BiasPredictor::require_order() const {
  if (model().ranks_items()) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("baseline {} predicts the same for all items of a user, so there are "
                  "no lists: train with {} or item-mean",
                  parameter_text(model().params, "baseline"), mention("baseline", "biases")));
}

std::vector<float> BiasPredictor::ranking_scores(std::span<const Index> /*users*/,
                                                 std::span<const Index> items) const {
  require_order();
  std::vector<float> scores;
  scores.reserve(items.size());
  for (const Index item : items) scores.push_back(learned_.items[item]);
  return scores;
}

TopKResult BiasPredictor::top_k(std::span<const AskedUser> users, Index n, const TopKFilter& filter,
                                const RunControl& control) const {
  require_order();
  const Scorer& scorer = scorer_.get([&] {
    return job<TopKJob>(device_).make_scorer(no_factors_.view(), learned_.items.span(),
                                             ScoreKind::kDot);
  });
  const Matrix queries(static_cast<Index>(users.size()), 0);
  TopKResult result = scorer.top_k(queries.view(), n, filter, control);
  for (Offset q = 0; q < result.counts.size(); ++q) {
    const double level = level_of(users[static_cast<std::size_t>(q)]);
    for (Offset e = q * result.k; e < q * result.k + result.counts[q]; ++e) {
      result.scores[e] = on_scale_(level + double{result.scores[e]});
    }
  }
  return result;
}

void BiasPredictor::score_all(std::span<const AskedUser> users, float* out) const {
  for (const AskedUser& user : users) {
    const double level = level_of(user);
    for (Index item = 0; item < model().items.size(); ++item) {
      *out++ = on_scale_(level + bias_of(learned_.items, item));
    }
  }
}

std::vector<float> BiasPredictor::predict(std::span<const Index> users,
                                          std::span<const Index> items, const RunControl&) const {
  std::vector<float> ratings(users.size());
  for (std::size_t p = 0; p < users.size(); ++p) {
    ratings[p] = on_scale_(double{learned_.mean} + bias_of(learned_.users, users[p]) +
                           bias_of(learned_.items, items[p]));
  }
  return ratings;
}

}  // namespace likewise
