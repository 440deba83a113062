// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "algorithms/algorithm.h"
#include "likewise/error.h"
#include "likewise/evaluation.h"

namespace likewise {
namespace {

/// Of the users ranked: more are worth a word.
constexpr double kFewWithoutHistory = 0.1;

}  // namespace

std::string advice_on_lists(const Model& model) {
  return algorithm_of(model.params)->advice_on_lists();
}

std::string text_of_not_ranked(Index without_history, Index users) {
  if (without_history == 0) return {};
  return fmt::format("{} of {} no history: not ranked", with_commas(without_history),
                     users == 1 ? "1 user has" : counted(users, "user") + " have");
}

std::string advice_on_history(const Model& model, const EvaluationReport& report) {
  if (report.users_without_history <= kFewWithoutHistory * report.users_evaluated ||
      !model.user_features.empty()) {
    return {};
  }
  return fmt::format(
      "{} of {} ranked have no history: most algorithms have an empty list for them, so metrics of "
      "lists say less of the model than of these users; tune and cross-validate leave them out",
      with_commas(report.users_without_history), counted(report.users_evaluated, "user"));
}

}  // namespace likewise
