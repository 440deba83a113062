// SPDX-License-Identifier: Apache-2.0
/// Short names for what the models of tests have learned.
#pragma once

#include <variant>

#include "likewise/model.h"

namespace likewise::test {

inline Factors& factors_of(Model& model) { return std::get<Factors>(model.learned); }
inline const Factors& factors_of(const Model& model) { return std::get<Factors>(model.learned); }
inline KnnLists& lists_of(Model& model) { return std::get<Knn>(model.learned).neighbours; }
inline const KnnLists& lists_of(const Model& model) { return model.knn()->neighbours; }
inline const Biases& biases_of(const Model& model) { return model.knn()->biases; }

}  // namespace likewise::test
