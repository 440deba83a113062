// SPDX-License-Identifier: Apache-2.0
#include "likewise/parameters.h"

#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "algorithms/parameters/json.h"
#include "algorithms/parameters/parameter.h"
#include "likewise/error.h"
#include "tests/errors.h"

namespace likewise {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// A text for a parameter that is not its default.
std::string other_text(const TrainingParams& params, const ParameterInfo& parameter) {
  const std::string now = parameter_text(params, parameter.name);
  if (!parameter.choices.empty()) {
    return parameter.choices[parameter.choices.front() == now ? 1 : 0];
  }
  return parameter.kind == ParameterKind::kInteger ? "7" : "0.375";
}

/// Calls work(params, parameter) for every parameter of every algorithm and kind of feedback.
template <class Work>
void for_all(const Work& work) {
  for (const std::string_view algorithm : algorithm_names()) {
    for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
      for (const ParameterInfo& parameter : parameters_of(algorithm)) {
        SCOPED_TRACE(fmt::format("{} {}", algorithm, parameter.name));
        work(default_params(algorithm, feedback), parameter);
      }
    }
  }
}

TEST(Parameters, NumbersSayTheirRange) {
  for_all([](const TrainingParams&, const ParameterInfo& parameter) {
    EXPECT_EQ(parameter.range.empty(), !parameter.choices.empty());
  });
  TrainingParams params = default_params("als", Feedback::kImplicit);
  EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                             [&] { set_parameter(params, "factors", "many"); }),
              HasSubstr("factors must be a whole number in [1, 4096], not 'many'"));
}

TEST(Parameters, DefaultsAreValidAndKnowTheirAlgorithm) {
  for (const std::string_view algorithm : algorithm_names()) {
    for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
      const TrainingParams params = default_params(algorithm, feedback);
      EXPECT_EQ(algorithm_name(params), algorithm);
      const bool only_ratings = algorithm == "bias" || algorithm == "sgd";
      const bool only_likes = algorithm == "bpr" || algorithm == "ease" || algorithm == "spectral";
      EXPECT_EQ(feedback_of(params), only_ratings ? Feedback::kExplicit
                                     : only_likes ? Feedback::kImplicit
                                                  : feedback);
      EXPECT_NO_THROW(validate(params));
    }
    EXPECT_FALSE(algorithm_help(algorithm).empty());
  }
  EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                             [] { (void)default_params("magic", Feedback::kImplicit); }),
              HasSubstr("als, item-knn, user-knn, popular, bias, sgd, bpr, ease, spectral"));
}

struct Described {
  Feedback feedback = Feedback::kImplicit;
  int count = 0;
  double weight = 0.0;
  std::optional<double> share{};
  double last = 0.0;
};
constexpr Parameter kFeedback{"feedback", &Described::feedback, ""};
constexpr Parameter kCount{"count", &Described::count, ""};
constexpr Parameter kWeight{"weight", &Described::weight, ""};
constexpr Parameter kShare{"share", &Described::share, ""};
constexpr Parameter kLast{"last", &Described::last, ""};

TEST(Parameters, AFieldWithoutADescriptionIsFound) {
  EXPECT_TRUE(describes_all(std::tuple{kFeedback, kCount, kWeight, kShare, kLast}));
  EXPECT_FALSE(describes_all(std::tuple{kFeedback, kCount, kWeight, kShare}));
  EXPECT_FALSE(describes_all(std::tuple{kFeedback, kCount, kWeight, kLast}));
  EXPECT_FALSE(describes_all(std::tuple{kFeedback, kCount, kShare, kLast}));
  EXPECT_FALSE(describes_all(std::tuple{kCount, kWeight, kShare, kLast}));
}

TEST(Parameters, AreSaidOnceInFull) {
  for (const std::string_view algorithm : algorithm_names()) {
    std::set<std::string> options;
    for (const ParameterInfo& parameter : parameters_of(algorithm)) {
      EXPECT_TRUE(options.insert(parameter.option).second) << parameter.option;
      EXPECT_EQ(parameter.option.find('_'), std::string::npos);
      EXPECT_FALSE(parameter.help.empty());
    }
  }
}

TEST(Parameters, TextComesBackAsItWas) {
  for_all([](TrainingParams params, const ParameterInfo& parameter) {
    const std::string text = other_text(params, parameter);
    set_parameter(params, parameter.name, text);
    EXPECT_EQ(parameter_text(params, parameter.name), text);
  });
}

TEST(Parameters, EveryOneIsInTheFile) {
  for_all([](TrainingParams params, const ParameterInfo& parameter) {
    const json before = encode_params(params);
    set_parameter(params, parameter.name, other_text(params, parameter));
    const json after = encode_params(params);
    EXPECT_NE(after, before);
    // Only the changed one differs, and a file that lacks it has its default.
    json without = after;
    ASSERT_EQ(without.erase(std::string(parameter.name)), 1U);
    EXPECT_EQ(json::diff(before, after).size(), 1U);
    const auto decoded = [&](const json& object) {
      return parameter_text(decode_params(algorithm_name(params), object), parameter.name);
    };
    if (parameter.name == "feedback") return;  // the other defaults would go with it
    const TrainingParams plain = default_params(algorithm_name(params), feedback_of(params));
    EXPECT_EQ(decoded(without), parameter_text(plain, parameter.name));
  });
}

/// Texts that look like numbers and are not what anybody meant.
TEST(Parameters, OddNumbersAreRefused) {
  for_all([](const TrainingParams& params, const ParameterInfo& parameter) {
    if (!parameter.choices.empty()) return;
    for (const char* odd : {"", " 1", "1 ", "+1", "+-1", "0x10", "1e", "1_000", "1,5", "nan", "inf",
                            "-inf", "1e999", "18446744073709551616", "-1", "true"}) {
      TrainingParams changed = params;
      const std::string why = test::error_of(ErrorKind::kInvalidArgument, [&] {
        set_parameter(changed, parameter.name, odd);
        validate(changed);
        // A real number may be as large as that.
        if (parameter.kind == ParameterKind::kReal && std::string_view(odd).starts_with("1844")) {
          throw Error(ErrorKind::kInvalidArgument, std::string(parameter.name));
        }
      });
      EXPECT_THAT(why, HasSubstr(std::string(parameter.name))) << odd;
    }
  });
}

TEST(Parameters, FilesWithOtherTypesAreRefused) {
  for_all([](const TrainingParams& params, const ParameterInfo& parameter) {
    for (const json& wrong : {json("odd"), json(json::array()), json(1e300), json(-5)}) {
      json object = encode_params(params);
      object[std::string(parameter.name)] = wrong;
      if (parameter.kind == ParameterKind::kReal && wrong == 1e300) continue;
      EXPECT_THAT(test::error_of(ErrorKind::kBadData,
                                 [&] { (void)decode_params(algorithm_name(params), object); }),
                  HasSubstr(std::string(parameter.name)))
          << wrong;
    }
  });
}

TEST(Parameters, SayWhatTheyWaitFor) {
  const auto needs = [](std::string_view algorithm, Feedback feedback, const char* name,
                        const std::vector<std::pair<const char*, const char*>>& set) {
    TrainingParams params = default_params(algorithm, feedback);
    for (const auto& [other, text] : set) set_parameter(params, other, text);
    return spelled(parameter_needs(params, name));
  };
  constexpr auto kImplicit = Feedback::kImplicit;
  constexpr auto kExplicit = Feedback::kExplicit;
  EXPECT_EQ(needs("als", kImplicit, "alpha", {}), "");
  EXPECT_THAT(needs("als", kExplicit, "alpha", {}), HasSubstr("implicit"));
  EXPECT_THAT(needs("als", kImplicit, "alpha", {{"unobserved_weight", "0.1"}}),
              HasSubstr("without unobserved_weight"));
  EXPECT_EQ(needs("als", kImplicit, "epsilon", {}), "confidence log");
  EXPECT_EQ(needs("als", kImplicit, "epsilon", {{"confidence", "log"}}), "");
  EXPECT_EQ(needs("als", kImplicit, "cg_steps", {}), "solver cg");
  EXPECT_EQ(needs("als", kExplicit, "biases", {}), "");
  EXPECT_EQ(needs("item-knn", kImplicit, "bm25_b", {}), "similarity bm25");
  EXPECT_EQ(needs("item-knn", kImplicit, "bm25_b", {{"similarity", "bm25"}}), "");
  EXPECT_EQ(needs("user-knn", kExplicit, "baseline_user_regularization", {}), "");
  EXPECT_NE(needs("user-knn", kExplicit, "baseline_learning_rate", {}), "");
  EXPECT_NE(needs("user-knn", kImplicit, "clip", {}), "");
  EXPECT_EQ(needs("bias", kExplicit, "baseline_user_regularization", {}), "");
  EXPECT_EQ(needs("bias", kExplicit, "baseline_learning_rate", {}),
            "baseline biases with baseline_method sgd");
  EXPECT_EQ(needs("bias", kExplicit, "baseline_epochs", {{"baseline", "user-mean"}}),
            "baseline biases");
  EXPECT_EQ(needs("bias", kExplicit, "clip", {{"baseline", "user-mean"}}), "baseline biases");
  EXPECT_EQ(needs("bias", kExplicit, "clip", {}), "");
}

}  // namespace
}  // namespace likewise
