// SPDX-License-Identifier: Apache-2.0
#include "algorithms/algorithm.h"
#include "likewise/evaluation.h"

namespace likewise {

std::string advice_on_lists(const Model& model) {
  return algorithm_of(model.params)->advice_on_lists();
}

}  // namespace likewise
