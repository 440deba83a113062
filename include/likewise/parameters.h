// SPDX-License-Identifier: Apache-2.0
/// The parameters of every algorithm by name: what they are called, may be, default to and mean,
/// for front doors (command line, reports, other languages). Said once, in
/// src/algorithms/parameters.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "likewise/als.h"
#include "likewise/bias.h"
#include "likewise/bpr.h"
#include "likewise/ease.h"
#include "likewise/knn.h"
#include "likewise/popular.h"
#include "likewise/sgd.h"
#include "likewise/spectral.h"

namespace likewise {

/// What to train, and how. The alternative is the algorithm; KnnParams::side tells item-knn
/// from user-knn.
using TrainingParams = std::variant<AlsParams, KnnParams, PopularParams, BiasParams, SgdParams,
                                    BprParams, EaseParams, SpectralParams>;

/// "als", "item-knn": its name in model files and on the command line.
[[nodiscard]] std::string_view algorithm_name(const TrainingParams& params);

/// All of them.
[[nodiscard]] std::span<const std::string_view> algorithm_names();

/// What it learns from, in a few words: "nearest items". Throws as default_params().
[[nodiscard]] std::string_view algorithm_help(std::string_view algorithm);

/// Good starting values; of ratings whatever the feedback for an algorithm that takes nothing else.
/// Throws Error(kInvalidArgument) for a name that is none.
[[nodiscard]] TrainingParams default_params(std::string_view algorithm, Feedback feedback);

[[nodiscard]] Feedback feedback_of(const TrainingParams& params);

/// Throws Error(kInvalidArgument) naming the parameter, its value and its range.
void validate(const TrainingParams& params);

/// Whether training goes by iterations, which can be validated, kept and resumed.
[[nodiscard]] bool iterates(const TrainingParams& params);

enum class ParameterKind { kInteger, kReal, kChoice, kSwitch };

/// One parameter, for people and front doors.
struct ParameterInfo {
  std::string_view name;  ///< "regularization_exponent": in model files, C++ and Python
  std::string option;     ///< "--regularization-exponent"
  std::string help;       ///< this and `usual` name other parameters by mention()
  ParameterKind kind = ParameterKind::kReal;
  std::vector<std::string> choices;  ///< of a choice, and of a switch: the names of its values
  std::string usual;                 ///< the default in words; may differ by feedback
  /// Whether it was given decides, not its value alone: prepare() chooses what was not.
  /// Front doors have no value for it until then.
  bool left_open = false;
  std::string range{};  ///< of a number, in words: "a whole number in [1, 4096]"

  /// Whether this text of it says that it is absent: none of a number, but not of a choice.
  [[nodiscard]] bool is_absent(std::string_view text) const {
    return text == "none" && choices.empty();
  }
  /// The option's name as one word: "regularization_exponent", and "negative" of keep_negative.
  [[nodiscard]] std::string word() const;
};

/// The parameters of one algorithm that a user chooses, in the order in which to show them. Throws
/// Error(kInvalidArgument) for a name that is no algorithm's.
[[nodiscard]] std::vector<ParameterInfo> parameters_of(std::string_view algorithm);

/// A parameter that a search for good values tries (likewise/tune.h): a number in a range, or one
/// of some choices.
struct SearchedParameter {
  std::string_view name;
  std::string option;
  double low = 0.0;
  double high = 0.0;
  bool log = false;  ///< by equal factors, else in equal steps
  bool whole = false;
  std::vector<std::string> choices{};  ///< in place of a range
};

/// Sets one parameter from text. Throws Error(kInvalidArgument) naming it, the text and what it may
/// be; ranges are validate()'s.
void set_parameter(TrainingParams& params, std::string_view name, std::string_view text);

/// The value of one parameter as set_parameter() reads it; "none" where it is absent.
[[nodiscard]] std::string parameter_text(const TrainingParams& params, std::string_view name);

/// Names and values of those that have an effect beside the others.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> effective_parameters(
    const TrainingParams& params);

/// Where the value of a parameter is from that is not left at its default. What the data decide may
/// come out as the default.
enum class Origin { kChosen, kData, kResumed };

inline constexpr std::string_view kOriginNames[] = {"chosen", "from the data",
                                                    "from the model resumed"};

struct ParameterOrigin {
  std::string name;  ///< as ParameterInfo::name
  Origin origin = Origin::kChosen;

  friend bool operator==(const ParameterOrigin&, const ParameterOrigin&) = default;
};

/// What a parameter waits for where its value has no effect beside the others in `params`, by
/// mention(): confidence log; empty where it has one.
[[nodiscard]] std::string parameter_needs(const TrainingParams& params, std::string_view name);

/// The parameters that all algorithms have: what can be said before one is chosen.
[[nodiscard]] std::vector<ParameterInfo> common_parameters();

}  // namespace likewise
