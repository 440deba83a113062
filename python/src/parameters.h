// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "binding.h"
#include "likewise/training.h"

namespace likewise::python {

/// The request of {"algorithm": ..., "feedback": ..., NAME: value}; what is None is not asked for,
/// and what has its default value is not chosen.
[[nodiscard]] TrainingRequest request_of(const nb::dict& given);
/// asked_params() of that.
[[nodiscard]] TrainingParams params_of(const nb::dict& given);
/// The device of a request as Python has it: open, or by its name.
void ask_for(const nb::object& device, TrainingRequest& request);
/// The same back, all of them; None for those that are absent, or have no effect beside the others.
[[nodiscard]] nb::dict dict_of(const TrainingParams& params);

/// A parameter of the library as Python writes it: cg_steps=3, solver="cg". A Spelling.
[[nodiscard]] std::string as_keyword(std::string_view parameter, std::string_view value);
/// Appends notes of the library, with their parameters written so.
void add_notes(const std::vector<std::string>& notes, nb::list& to);

/// What each parameter of an algorithm is called, may be, means and defaults to.
[[nodiscard]] nb::list parameters(const std::string& algorithm);

}  // namespace likewise::python
