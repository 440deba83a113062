// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "likewise/error.h"
#include "likewise/evaluation.h"
#include "likewise/parameters.h"

namespace likewise {

std::string advice_on_lists(const Model& model) {
  const auto* const params = std::get_if<NeighbourParams>(&model.params);
  if (params == nullptr || params->prediction == Prediction::kSum) return {};
  return fmt::format(
      "lists by predicted ratings put items first that few have rated highly; those of popular are "
      "better. For lists train {} with {}, or with {}",
      model.algorithm(), mention("prediction", "sum"), mention("feedback", "implicit"));
}

}  // namespace likewise
