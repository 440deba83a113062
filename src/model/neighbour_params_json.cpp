// SPDX-License-Identifier: Apache-2.0
#include "model/neighbour_params_json.h"

#include "model/params_json.h"

namespace likewise {
namespace params_json {

template <>
struct Names<Side> {
  static constexpr std::string_view kAll[] = {"user", "item"};
};
template <>
struct Names<Similarity> {
  static constexpr const auto& kAll = kSimilarityNames;
};
template <>
struct Names<Prediction> {
  static constexpr const auto& kAll = kPredictionNames;
};
template <>
struct Names<BaselineMethod> {
  static constexpr std::string_view kAll[] = {"als", "sgd"};
};

}  // namespace params_json

namespace {

using nlohmann::json;

/// The one list of parameters, for both directions.
template <class Params, class Visitor>
void visit_parameters(Params& params, const Visitor& visit) {
  visit("feedback", params.feedback);
  visit("side", params.side);
  visit("neighbours", params.neighbours);
  visit("similarity", params.similarity);
  visit("min_support", params.min_support);
  visit("shrinkage", params.shrinkage);
  visit("amplification", params.amplification);
  visit("keep_negative", params.keep_negative);
  visit("centring", params.centring);
  visit("prediction", params.prediction);
  visit("min_neighbours", params.min_neighbours);
  visit("clip", params.clip);
  visit("baseline_method", params.baseline_method);
  visit("baseline_epochs", params.baseline_epochs);
  visit("baseline_user_regularization", params.baseline_user_regularization);
  visit("baseline_item_regularization", params.baseline_item_regularization);
  visit("baseline_regularization", params.baseline_regularization);
  visit("baseline_learning_rate", params.baseline_learning_rate);
  visit("bm25_k1", params.bm25_k1);
  visit("bm25_b", params.bm25_b);
  visit("popularity_damping", params.popularity_damping);
}

constexpr auto kVisitAll = [](auto& params, const auto& visit) { visit_parameters(params, visit); };

}  // namespace

json encode_neighbour_params(const NeighbourParams& params) {
  return params_json::encode(params, kVisitAll);
}

NeighbourParams decode_neighbour_params(const json& object) {
  return params_json::decode<NeighbourParams>(object, kVisitAll);
}

}  // namespace likewise
