// SPDX-License-Identifier: Apache-2.0
/// The course of trainings: objective and validation against iterations and against seconds.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "likewise/iteration.h"

namespace likewise::cli {

struct LearningCurve {
  std::string name;
  std::span<const Iteration> iterations;
  std::size_t colour = 0;  ///< as Series
};

enum class Measure { kObjective, kValidation };

/// Two cards of a page: against iterations, and against the seconds of training. A single course
/// may have a mark at the iteration that was kept; 0: none.
[[nodiscard]] std::string curve_sections(std::string_view title, std::string_view note,
                                         const std::vector<LearningCurve>& curves, Measure measure,
                                         int kept = 0);

}  // namespace likewise::cli
