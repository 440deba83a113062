// SPDX-License-Identifier: Apache-2.0
#include "training/notes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "algorithms/sgd/setup.h"
#include "core/system/parallel.h"
#include "likewise/error.h"
#include "likewise/training.h"

namespace likewise {
namespace {

std::vector<std::string> notes_on_likes(const Interactions& data) {
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
  return notes;
}

[[nodiscard]] bool are_alike(std::span<const float> values) {
  const auto [low, high] = std::ranges::minmax(values);
  return low == high;
}

/// The length of the longest row.
[[nodiscard]] double longest_row(const MatrixView& rows) {
  constexpr Offset kBlock = 256;
  std::vector<double> squares(static_cast<std::size_t>((rows.rows + kBlock - 1) / kBlock));
  parallel_blocks(rows.rows, kBlock, [&](Offset begin, Offset end, Offset block) {
    double most = 0.0;
    for (Offset row = begin; row < end; ++row) {
      double sum = 0.0;
      for (const float x : rows.row_span(static_cast<Index>(row))) sum += double{x} * double{x};
      most = std::max(most, sum);
    }
    squares[static_cast<std::size_t>(block)] = most;
  });
  return squares.empty() ? 0.0 : std::sqrt(std::ranges::max(squares));
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

/// What scores are told apart by: the standard deviation of ratings, or a like.
[[nodiscard]] double unit_of_scores(const Model& model) {
  if (model.feedback() == Feedback::kImplicit) return 1.0;
  return value_spread(model.history.view(), SgdParams{}).spread;
}

}  // namespace

std::vector<std::string> notes_on(const Interactions& data, Feedback feedback) {
  const auto& values = data.by_user.values;
  if (values.empty()) return {};
  if (feedback == Feedback::kImplicit) return notes_on_likes(data);
  if (values.size() < 2 || !are_alike(values.span())) return {};
  return {fmt::format("all ratings are {}: there is nothing to tell apart, and rmse will be 0",
                      values[0])};
}

std::vector<std::string> notes_on(const Model& model) {
  constexpr double kNothing = 1e-3;
  const Factors* const factors = model.factors();
  const std::optional<double> regularization = regularization_of(model.params);
  const CsrView history = model.history.view();
  if (factors == nullptr || !regularization || history.nnz() == 0) return {};
  const bool is_explicit = model.feedback() == Feedback::kExplicit;
  if (is_explicit && are_alike(model.history.values.span())) return {};
  const double most = longest_row(factors->users.view()) * longest_row(factors->items.view());
  if (most > kNothing * unit_of_scores(model)) return {};
  return {
      fmt::format("factors add at most {:.1g} to a score, next to nothing; with less than {}, "
                  "or with more iterations, they may add more",
                  most, mention("regularization", fmt::format("{:g}", *regularization)))};
}

}  // namespace likewise
