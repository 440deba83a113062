// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "binding.h"
#include "likewise/parameters.h"

namespace likewise::python {

/// Parameters of {"algorithm": ..., "feedback": ..., NAME: value}: what is absent or None has its
/// default for that feedback. Throws Error(kInvalidArgument) for a name that the algorithm does not
/// have, for values out of their range, and for those that have no effect beside the others.
[[nodiscard]] TrainingParams params_of(const nb::dict& given);
/// The same of a training: with what suits the matrix, or else with what the model to resume has,
/// in place of what is left open (ParameterInfo::left_open) and not given.
[[nodiscard]] TrainingParams params_to_train(const nb::dict& given, const CsrView& by_user,
                                             const TrainingParams* earlier);
/// The same back, all of them, absent ones as None.
[[nodiscard]] nb::dict dict_of(const TrainingParams& params);

/// "auto", which stands for an algorithm that suits the data.
inline constexpr const char* kAuto = "auto";
/// Parameters as params_of() makes them, of some algorithm, where only those that all have are
/// given.
[[nodiscard]] TrainingParams params_for_auto(const nb::dict& given);

/// What each parameter of an algorithm is called, may be, means and defaults to.
[[nodiscard]] nb::list parameters(const std::string& algorithm);

}  // namespace likewise::python
