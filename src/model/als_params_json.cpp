// SPDX-License-Identifier: Apache-2.0
#include "model/als_params_json.h"

#include "model/params_json.h"

namespace likewise {
namespace params_json {

template <>
struct Names<Confidence> {
  static constexpr const auto& kAll = kConfidenceNames;
};
template <>
struct Names<AlsSolverKind> {
  static constexpr const auto& kAll = kAlsSolverNames;
};
template <>
struct Names<Precision> {
  static constexpr const auto& kAll = kPrecisionNames;
};

}  // namespace params_json

namespace {

using nlohmann::json;

/// The one list of parameters, for both directions. Visitor: (name, field).
template <class Params, class Visitor>
void visit_parameters(Params& params, const Visitor& visit) {
  visit("feedback", params.feedback);
  visit("factors", params.factors);
  visit("iterations", params.iterations);
  visit("regularization", params.regularization);
  visit("regularization_exponent", params.regularization_exponent);
  visit("alpha", params.alpha);
  visit("confidence", params.confidence);
  visit("epsilon", params.epsilon);
  visit("unobserved_weight", params.unobserved_weight);
  visit("biases", params.biases);
  visit("init_stddev", params.init_stddev);
  visit("solver", params.solver);
  visit("cg_steps", params.cg_steps);
  visit("cg_tolerance", params.cg_tolerance);
  visit("precision", params.precision);
  visit("tolerance", params.tolerance);
  visit("patience", params.patience);
  visit("seed", params.seed);
}

constexpr auto kVisitAll = [](auto& params, const auto& visit) { visit_parameters(params, visit); };

}  // namespace

json encode_als_params(const AlsParams& params) { return params_json::encode(params, kVisitAll); }

AlsParams decode_als_params(const json& object) {
  return params_json::decode<AlsParams>(object, kVisitAll);
}

}  // namespace likewise
