// SPDX-License-Identifier: Apache-2.0
/// The parameters of ALS; the fields of AlsParams say the same to C++.
#pragma once

#include "algorithms/parameters/parameter.h"
#include "likewise/als.h"

namespace likewise {

template <>
struct EnumNames<Confidence> {
  static constexpr std::span<const std::string_view> kAll = kConfidenceNames;
};
template <>
struct EnumNames<RegularizationCount> {
  static constexpr std::span<const std::string_view> kAll = kRegularizationCountNames;
};
template <>
struct EnumNames<AlsSolverKind> {
  static constexpr std::span<const std::string_view> kAll = kAlsSolverNames;
};
template <>
struct EnumNames<Preconditioner> {
  static constexpr std::span<const std::string_view> kAll = kPreconditionerNames;
};
template <>
struct EnumNames<Precision> {
  static constexpr std::span<const std::string_view> kAll = kPrecisionNames;
};

template <>
struct Description<AlsParams> {
  using P = AlsParams;

  static constexpr bool is_implicit(const P& p) { return p.feedback == Feedback::kImplicit; }
  static constexpr bool is_explicit(const P& p) { return !is_implicit(p); }
  static constexpr bool is_counted(const P& p) {
    return is_implicit(p) && p.regularization_exponent > 0.0;
  }
  static constexpr bool is_hu(const P& p) { return is_implicit(p) && !p.unobserved_weight; }
  static constexpr bool is_log(const P& p) { return is_hu(p) && p.confidence == Confidence::kLog; }
  static constexpr bool is_cg(const P& p) { return p.solver == AlsSolverKind::kCg; }
  using Searched = std::optional<SearchRange>;
  /// About what suits the data, as with_data_defaults() has it: implicit less where w0 is more, of
  /// ratings such that each nu pulls a row of 100 as much.
  static Searched lambdas(const P& p, const P& usual) {
    if (is_explicit(p)) {
      const double data_defaults =
          usual.regularization *
          power_of_100(usual.regularization_exponent - p.regularization_exponent);
      return log_range(data_defaults / 10.0, data_defaults * 10.0);
    }
    const double w0 = p.unobserved_weight.value_or(1.0);
    const double data_defaults =
        usual.regularization * std::sqrt(usual.unobserved_weight.value_or(1.0) / w0);
    return log_range(data_defaults / 8.0, data_defaults * 8.0);
  }
  static constexpr Searched nus(const P& p, const P&) {
    return is_implicit(p) ? std::nullopt : Searched(linear_range(0.0, 1.0));
  }
  static constexpr Searched missing_weights(const P& p, const P& usual) {
    if (is_explicit(p) || !usual.unobserved_weight) return std::nullopt;
    return log_range(*usual.unobserved_weight / 16.0, *usual.unobserved_weight * 16.0);
  }
  static constexpr const char* kHu = "{feedback implicit} without {unobserved_weight}";

  static constexpr auto kAll = std::tuple{
      Parameter{"feedback", &P::feedback, kFeedbackMeaning}.kept_by_resume(),
      Parameter{"factors", &P::factors, "Numbers learned per user and per item"}
          .between(1, 4096, "in [1, 4096]")
          .left_open("implicit from the data, 64 to 512; 64 explicit")
          .searched([](const P&, const P& usual) -> Searched {
            return log_range(16, usual.factors >= 512 ? 1024 : 512);
          })
          .kept_by_resume(),
      Parameter{"iterations", &P::iterations, "Passes over both sides"}
          .between(0, 1'000'000, "in [0, 1000000]")
          .searched([](const P&, const P&) -> Searched { return linear_range(1, 63); }),
      Parameter{"regularization", &P::regularization, "lambda: pulls factors to 0"}
          .not_negative()
          .searched(lambdas)
          .left_open("from the data, 0.01 with {alpha}"),
      Parameter{"regularization_exponent", &P::regularization_exponent,
                "nu: 0 is plain lambda, 1 multiplies it by the row's count"}
          .share()
          .searched(nus)
          .left_open("1, 0 with {alpha}, 0.5 explicit without {regularization}"),
      Parameter{"regularization_count", &P::regularization_count,
                "Implicit: what nu is an exponent of: the weight of all the row's cells, or the "
                "number of its likes, as in Spark"}
          .only_if_by_data(is_counted, "{feedback implicit} and {regularization_exponent} above 0"),
      Parameter{"alpha", &P::alpha,
                "Implicit: confidence per unit of value; it or {confidence} turns on Hu's form"}
          .positive()
          .only_if(is_hu, kHu)
          .left_open("1 with {confidence}"),
      Parameter{"confidence", &P::confidence, "Implicit: how a value becomes confidence"}
          .only_if(is_hu, kHu)
          .left_open("linear with {alpha}"),
      Parameter{"epsilon", &P::epsilon, "Scale of {confidence log}"}.positive().only_if(
          is_log, "{confidence log}"),
      Parameter{"unobserved_weight", &P::unobserved_weight,
                "Implicit: w0, weight of missing cells in the iALS form"}
          .positive()
          .searched(missing_weights)
          .only_if(is_implicit, "{feedback implicit}")
          .left_open("from the data, without {alpha} and {confidence}"),
      Parameter{"biases", &P::biases, "Explicit: learn the mean and a bias per user and item"}
          .only_if(is_explicit, "{feedback explicit}")
          .kept_by_resume(),
      Parameter{"nonnegative", &P::nonnegative,
                "Factors of 0 and more, by nonnegative least squares"}
          .kept_by_resume(),
      Parameter{"init_stddev", &P::init_stddev, "Spread of the first factors"}
          .positive()
          .kept_by_resume()
          .left_open("0.1, of ratings without {biases} from the data"),
      Parameter{"solver", &P::solver, "Exact, or a few conjugate gradient steps per row"},
      Parameter{"cg_steps", &P::cg_steps, "Steps per row of {solver cg}"}
          .between(1, 1000, "in [1, 1000]")
          .only_if(is_cg, "{solver cg}"),
      Parameter{"cg_tolerance", &P::cg_tolerance,
                "A row also stops at this relative residual; 0 is off"}
          .share()
          .only_if(is_cg, "{solver cg}"),
      Parameter{
          "cg_preconditioner", &P::cg_preconditioner,
          "diagonal: nearer to the minimum after as many steps; none: plain conjugate gradients"}
          .only_if(is_cg, "{solver cg}"),
      Parameter{"precision", &P::precision, "Storage of factors while training"},
      Parameter{"tolerance", &P::tolerance,
                "Stop when the objective falls by less than this share; 0 is off"}
          .share(),
      Parameter{"patience", &P::patience,
                "Stop after this many iterations without a better validation; 0 is off"}
          .between(0, 1'000'000, "in [0, 1000000]"),
      Parameter{"seed", &P::seed, "Same seed, same model"}
          .between(0, std::numeric_limits<std::uint64_t>::max(), "a natural number below 2^64")
          .kept_by_resume()};
};

}  // namespace likewise
