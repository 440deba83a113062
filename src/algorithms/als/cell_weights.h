// SPDX-License-Identifier: Apache-2.0
/// How much an observed cell weighs: the only text of the formulas of algorithms/weights.h, for the
/// processor and for GPUs, for double and for float, rounded as core/host_device.h says.
///
/// One text repeats it: the CPU's kernel (backends/cpu/kernels/als_vectors.cpp) weighs vectors of
/// float32. What is compiled for one instruction set cannot be called from code for another, and a
/// vector has its own logarithm; but for that logarithm it has the bits of these functions in float
/// (tests/algorithms/als/weights_test.cpp).
#pragma once

#include <cmath>

#include "core/host_device.h"

namespace likewise {

enum class CellForm {
  kLinear,      ///< confidence linear
  kLog,         ///< confidence log
  kGiven,       ///< confidence given: values are confidences, and those below 1 weigh less than 0
  kUnobserved,  ///< unobserved_weight: values only tell likes from dislikes
  kExplicit,    ///< ratings
};

template <class T>
struct CellRule {
  CellForm form = CellForm::kLinear;
  T alpha = T{1};
  T epsilon = T{1};
};

/// c of a value of this size (|r|) with confidence given.
template <class T>
[[nodiscard]] LIKEWISE_HOST_DEVICE T given_confidence(const CellRule<T>& rule, T size) {
  return rule.alpha * size;
}

/// w of a value of this size (|r|).
template <class T>
[[nodiscard]] LIKEWISE_HOST_DEVICE T observed_weight(const CellRule<T>& rule, T size) {
  switch (rule.form) {
    case CellForm::kLinear:
      return rule.alpha * size;
    case CellForm::kLog:
      return rule.alpha * std::log1p(size / rule.epsilon);
    case CellForm::kGiven:
      return given_confidence(rule, size) - T{1};
    case CellForm::kUnobserved:
      return size > T{0} ? T{1} : T{0};
    case CellForm::kExplicit:
      break;
  }
  return T{1};
}

/// v of a like of weight w. `slope` is 0 with unobserved_weight, where v is 1, and else 1: the
/// product is exact, so it does not matter whether it is fused. Of a small v a w below 0 keeps
/// little: where there are such, v is given_confidence() itself.
template <class T>
[[nodiscard]] LIKEWISE_HOST_DEVICE T like_target(T slope, T w) {
  return slope * w + T{1};
}
[[nodiscard]] LIKEWISE_HOST_DEVICE float like_slope(CellForm form) {
  return form == CellForm::kUnobserved ? 0.0F : 1.0F;
}

/// v of a rating: what mean and bias of the fixed side's row leave of it.
template <class T>
[[nodiscard]] LIKEWISE_HOST_DEVICE T rating_target(T value, T mean, T bias) {
  return value - mean - bias;
}

}  // namespace likewise
