// SPDX-License-Identifier: Apache-2.0
/// What the library asks of parameters: what is searched, what the data decides, what a resumed
/// training keeps.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "likewise/csr.h"
#include "likewise/parameters.h"

namespace likewise {

/// Those of an algorithm, in the order of parameters_of(). Which they are follows from the
/// feedback; ranges may depend on the other values of `params` and lie about those of `usual`, the
/// defaults of this algorithm for the data (with_data_defaults()). The range of "iterations" ends
/// with the longest training. Empty where there is nothing to search.
[[nodiscard]] std::vector<SearchedParameter> searched_parameters(const TrainingParams& params,
                                                                 const TrainingParams& usual);

/// `params` with what suits this matrix (math.md, "Values that suit the data") for those that
/// are left open and not named in `given`: ALS of implicit feedback takes the iALS form with
/// weights from counts, or where `given` names alpha or confidence, Hu's; that of explicit feedback
/// a regularization from counts and the spread of the ratings; of neighbours for lists from
/// implicit feedback counts say how many users have and how they are summed. Others come back as
/// they are. What a front door calls once it has read the data; a training that goes on from a
/// model keeps what that has.
[[nodiscard]] TrainingParams with_data_defaults(const CsrView& by_user, TrainingParams params,
                                                std::span<const std::string> given = {});

/// Whether parameter_needs() knows it only of parameters that with_data_defaults() has been at.
[[nodiscard]] bool needs_data(const TrainingParams& params, std::string_view name);

/// Whether a training that goes on from a model keeps what that model has.
[[nodiscard]] bool fixed_by_resume(const TrainingParams& params, std::string_view name);

}  // namespace likewise
