// SPDX-License-Identifier: Apache-2.0
/// Data and trainings as words of a benchmark's command.
#pragma once

#include <string>

#include "likewise/likewise.h"

namespace likewise {

/// A file of interactions, a shape of `likewise generate` such as netflix:explicit, or
/// uniform:10000x0.01: a square of so many rows, of which so large a part is filled, at random
/// (Kato and Hosino 2009).
[[nodiscard]] Interactions open_data(const std::string& text);

/// Ratings, but for data whose name ends with ":implicit".
[[nodiscard]] Feedback feedback_of(const std::string& data);

/// "sgd:factors=128:order=racing". Throws Error(kInvalidArgument).
[[nodiscard]] TrainingParams parse_training(const std::string& text, Feedback feedback);

}  // namespace likewise
