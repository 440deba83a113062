// SPDX-License-Identifier: Apache-2.0
/// The parameters of SGD; the fields of SgdParams say the same to C++.
#pragma once

#include "algorithms/parameters/parameter.h"
#include "likewise/sgd.h"

namespace likewise {

template <>
struct EnumNames<SgdOrder> {
  static constexpr std::span<const std::string_view> kAll = kSgdOrderNames;
};
template <>
struct EnumNames<SgdSchedule> {
  static constexpr std::span<const std::string_view> kAll = kSgdScheduleNames;
};
template <>
struct EnumNames<SgdLoss> {
  static constexpr std::span<const std::string_view> kAll = kSgdLossNames;
};

template <>
struct EnumNames<SgdPrecision> {
  static constexpr std::span<const std::string_view> kAll = kSgdPrecisionNames;
};

template <>
struct Description<SgdParams> {
  using P = SgdParams;

  static constexpr bool is_inverse(const P& p) { return p.schedule == SgdSchedule::kInverse; }
  static constexpr bool is_squared(const P& p) { return p.loss == SgdLoss::kSquared; }
  static constexpr bool is_biased(const P& p) { return p.biases; }

  using Searched = std::optional<SearchRange>;
  /// Such that each nu pulls a row of 100 ratings as much; about what suits the values' spread.
  static Searched lambdas(const P& p, const P& usual) {
    const double weight =
        power_of_100(1.0 - p.regularization_exponent) * usual.regularization / P{}.regularization;
    return log_range(0.01 * weight, weight);
  }

  static constexpr auto kAll = std::tuple{
      Parameter{"feedback", &P::feedback, kFeedbackMeaning}.kept_by_resume(),
      Parameter{"factors", &P::factors, "Numbers learned per user and per item"}
          .between(1, 4096, "in [1, 4096]")
          .searched([](const P&, const P&) -> Searched { return log_range(8, 256); })
          .kept_by_resume(),
      Parameter{"iterations", &P::iterations, "Epochs: passes over the ratings"}
          .between(0, 1'000'000, "in [0, 1000000]")
          .searched([](const P&, const P&) -> Searched { return linear_range(1, 90); }),
      Parameter{"loss", &P::loss,
                "squared: predict values; logistic: tell values above 0 from the others"}
          .kept_by_resume(),
      Parameter{"regularization", &P::regularization, "lambda: pulls factors and biases to 0"}
          .not_negative()
          .left_open("from the data; 0.9 with {loss logistic}")
          .searched(lambdas),
      Parameter{"regularization_exponent", &P::regularization_exponent,
                "nu: 1 takes lambda for every rating, 0 once for a row"}
          .share()
          .searched([](const P&, const P&) -> Searched { return linear_range(0.0, 1.0); }),
      Parameter{"biases", &P::biases, "Learn a bias per user and item on top of the mean"}
          .kept_by_resume(),
      Parameter{"bias_regularization", &P::bias_regularization, "lambda of the biases"}
          .not_negative()
          .left_open("as {regularization}; 0.9 without it")
          .only_if(is_biased, "{biases on}"),
      Parameter{"nonnegative", &P::nonnegative, "Factors of 0 and more: a step below 0 ends there"}
          .only_if(is_squared, "{loss squared}")
          .kept_by_resume(),
      Parameter{"init_stddev", &P::init_stddev, "Spread of the first factors"}
          .positive()
          .kept_by_resume(),
      Parameter{"order", &P::order,
                "blocked: the same result for any number of threads; alternating: one side at a "
                "time, too; racing: threads overwrite each other; serial: one thread"}
          .kept_by_resume(),
      Parameter{"schedule", &P::schedule, "How far steps go from epoch to epoch"}.kept_by_resume(),
      Parameter{"learning_rate", &P::learning_rate, "Of a step, relative to the values' spread"}
          .positive()
          .searched([](const P&, const P&) -> Searched { return log_range(0.005, 0.1); }),
      Parameter{"decay", &P::decay,
                "Of {schedule inverse}: the rate is divided by 1 + this an epoch"}
          .not_negative()
          .only_if(is_inverse, "{schedule inverse}"),
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
