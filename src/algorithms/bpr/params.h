// SPDX-License-Identifier: Apache-2.0
/// The parameters of BPR; the fields of BprParams say the same to C++.
#pragma once

#include "algorithms/parameters/parameter.h"
#include "algorithms/sgd/params.h"
#include "likewise/bpr.h"

namespace likewise {

template <>
struct EnumNames<BprNegatives> {
  static constexpr std::span<const std::string_view> kAll = kBprNegativesNames;
};
template <>
struct EnumNames<BprLikedDraws> {
  static constexpr std::span<const std::string_view> kAll = kBprLikedDrawsNames;
};
template <>
struct EnumNames<BprOrder> {
  static constexpr std::span<const std::string_view> kAll = kBprOrderNames;
};

template <>
struct Description<BprParams> {
  using P = BprParams;

  using Searched = std::optional<SearchRange>;
  static constexpr BprNegatives kNegatives[] = {BprNegatives::kUniform, BprNegatives::kPopular};

  static constexpr auto kAll = std::tuple{
      Parameter{"feedback", &P::feedback, kFeedbackMeaning}.kept_by_resume(),
      Parameter{"factors", &P::factors, "Numbers learned per user and per item"}
          .between(1, 4096, "in [1, 4096]")
          .searched([](const P&, const P&) -> Searched { return log_range(16, 256); })
          .kept_by_resume(),
      Parameter{"iterations", &P::iterations, "Epochs: as many steps as likes each"}
          .between(0, 1'000'000, "in [0, 1000000]")
          .searched([](const P&, const P&) -> Searched { return linear_range(1, 180); }),
      Parameter{"regularization", &P::regularization, "lambda: pulls factors and biases to 0"}
          .not_negative()
          .searched([](const P&, const P&) -> Searched { return log_range(3e-4, 0.1); }),
      Parameter{"learning_rate", &P::learning_rate, "Of a step"}.positive().searched(
          [](const P&, const P&) -> Searched { return log_range(0.01, 0.3); }),
      Parameter{"biases", &P::biases, "Learn a bias per item"}.kept_by_resume(),
      Parameter{"init_stddev", &P::init_stddev, "Spread of the first factors"}
          .positive()
          .kept_by_resume(),
      Parameter{"negatives", &P::negatives,
                "How items that a user has not liked are drawn: all alike, or as often as others "
                "liked them"}
          .searched_among([](const P&) { return std::span<const BprNegatives>(kNegatives); })
          .kept_by_resume(),
      Parameter{"liked_draws", &P::liked_draws,
                "Where the drawn item is liked too: draw again, or do without this step"}
          .kept_by_resume(),
      Parameter{"order", &P::order,
                "blocked: the same result for any number of threads; racing: threads overwrite "
                "each other"}
          .kept_by_resume(),
      Parameter{"tolerance", &P::tolerance,
                "Stop when the objective falls by less than this share; 0 is off"}
          .share(),
      Parameter{"patience", &P::patience,
                "Stop after this many epochs without a better validation; 0 is off"}
          .between(0, 1'000'000, "in [0, 1000000]"),
      Parameter{"precision", &P::precision, "Storage of factors while training"},
      Parameter{"seed", &P::seed, "Same seed, same model"}
          .between(0, std::numeric_limits<std::uint64_t>::max(), "a natural number below 2^64")
          .kept_by_resume()};
};

}  // namespace likewise
