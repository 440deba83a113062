// SPDX-License-Identifier: Apache-2.0
#include "training/notes.h"

#include <algorithm>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "algorithms/rating_scale.h"
#include "algorithms/sgd/setup.h"
#include "core/linalg/dense.h"
#include "likewise/error.h"
#include "likewise/training.h"
#include "training/value_readers.h"

namespace likewise {
namespace {

/// Of those above 0.
[[nodiscard]] bool differ(std::span<const float> values) {
  const auto is_like = [](float value) { return value > 0.0F; };
  const auto first = std::ranges::find_if(values, is_like);
  return first != values.end() && std::ranges::any_of(values, [&](float value) {
           return is_like(value) && value != *first;
         });
}

[[nodiscard]] std::string note_on_sizes(const TrainingParams& params) {
  return fmt::format("values differ, but {}", alike_text(params));
}

std::vector<std::string> notes_on_likes(const Interactions& data, const TrainingParams& params) {
  const auto& values = data.by_user.values;
  const auto zeros = std::count(values.begin(), values.end(), 0.0F);
  const auto dislikes =
      std::count_if(values.begin(), values.end(), [](float value) { return value < 0; });
  if (zeros > 0 && zeros == values.size()) {
    throw Error(ErrorKind::kBadData,
                fmt::format("all {} values are 0, which is no like: implicit feedback learns from "
                            "values above 0. Is another column the value, or is it {}?",
                            zeros, mention("feedback", "explicit")));
  }
  std::vector<std::string> notes;
  if (zeros > 0) {
    notes.push_back(fmt::format("{} of {} values are 0, which is no like", zeros, values.size()));
  }
  if (dislikes > 0) {
    notes.push_back(
        fmt::format("{} of {} values are below 0, which is a dislike", dislikes, values.size()));
  }
  if (data.faded && !reads_values(params)) notes.push_back(note_on_sizes(params));
  return notes;
}

/// Of factors and biases, where a training has one that pulls them to 0.
[[nodiscard]] std::optional<double> regularization_of(const TrainingParams& params) {
  return std::visit(
      [](const auto& own) -> std::optional<double> {
        if constexpr (requires { own.regularization; }) return double{own.regularization};
        return std::nullopt;
      },
      params);
}

/// What decides which rows are neighbours; empty where none are looked for.
[[nodiscard]] std::string limits_of_neighbours(const TrainingParams& params) {
  return std::visit(
      [](const auto& own) -> std::string {
        if constexpr (requires { own.min_support, own.amplification; }) {
          return fmt::format("{} and {}",
                             mention("min_support", fmt::format("{}", own.min_support)),
                             mention("amplification", fmt::format("{:g}", own.amplification)));
        }
        return {};
      },
      params);
}

/// Of neighbours there are none, or all count for nothing.
[[nodiscard]] std::vector<std::string> notes_on_neighbours(const Model& model) {
  const std::string limits = limits_of_neighbours(model.params);
  const auto counts = [](float similarity) { return similarity != 0.0F; };
  if (limits.empty() || std::ranges::any_of(model.knn()->neighbours.similarities.span(), counts)) {
    return {};
  }
  return {
      fmt::format("no neighbours were found with {}: there is nothing to recommend by; lower "
                  "ones may find some",
                  limits)};
}

}  // namespace

std::vector<std::string> notes_on(const Interactions& data, const TrainingParams& params) {
  const auto& values = data.by_user.values;
  if (values.empty()) return {};
  if (feedback_of(params) == Feedback::kImplicit) return notes_on_likes(data, params);
  const RatingScale scale(values.span(), true);
  if (values.size() < 2 || scale.lowest() != scale.highest()) return {};
  return {fmt::format("all ratings are {}: there is nothing to tell apart, and rmse will be 0",
                      scale.lowest())};
}

std::vector<std::string> remarks_on(const Interactions& data, const TrainingParams& params) {
  if (data.faded || reads_values(params) || !differ(data.by_user.values.span())) return {};
  return {note_on_sizes(params)};
}

std::vector<std::string> notes_on(const Model& model) {
  constexpr double kNothing = 1e-3;
  const Factors* const factors = model.factors();
  const std::optional<double> regularization = regularization_of(model.params);
  const CsrView history = model.history.view();
  if (model.knn() != nullptr && history.nnz() > 0) return notes_on_neighbours(model);
  if (factors == nullptr || !regularization || history.nnz() == 0) return {};
  const bool is_explicit = model.feedback() == Feedback::kExplicit;
  const RatingScale scale(model.history.values.span(), is_explicit);
  // No standard deviation is above half the range.
  const double unit = is_explicit ? 0.5 * (double{scale.highest()} - double{scale.lowest()}) : 1.0;
  const double most = longest_row(factors->users.view()) * longest_row(factors->items.view());
  if (unit == 0.0 || most > kNothing * unit) return {};
  if (is_explicit && most > kNothing * value_spread(history, SgdParams{}).spread) return {};
  return {
      fmt::format("factors add at most {:.1g} to a score, next to nothing; with less than {}, "
                  "or with more iterations, they may add more",
                  most, mention("regularization", fmt::format("{:g}", *regularization)))};
}

}  // namespace likewise
