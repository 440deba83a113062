// SPDX-License-Identifier: Apache-2.0
/// Short names for what the models of tests have learned.
#pragma once

#include <variant>

#include "likewise/model.h"

namespace likewise::test {

inline Factors& factors_of(Model& model) { return std::get<Factors>(model.learned); }
inline const Factors& factors_of(const Model& model) { return std::get<Factors>(model.learned); }
inline Neighbours& lists_of(Model& model) {
  return std::get<Neighbourhood>(model.learned).neighbours;
}
inline const Neighbours& lists_of(const Model& model) { return model.neighbourhood()->neighbours; }
inline const Baselines& baselines_of(const Model& model) {
  return model.neighbourhood()->baselines;
}

}  // namespace likewise::test
