// SPDX-License-Identifier: Apache-2.0
/// --algorithm, and an option for every parameter of every algorithm. Names, defaults and texts are
/// the library's (likewise/parameters.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "likewise/parameters.h"

namespace likewise::cli {

/// The options that give these parameters: "--algorithm als --factors 32".
[[nodiscard]] std::string options_text(const TrainingParams& params);

class TrainingOptions {
 public:
  /// Declares the options. Keeps a reference to this object.
  void add(CLI::App& app);

  /// Whether the data choose the algorithm: --algorithm auto. Then params() are for what
  /// choose_algorithm() comes to.
  [[nodiscard]] bool is_auto() const { return algorithm_ == kAuto; }
  /// Of --algorithm auto; throws Error(kInvalidArgument) for an option that not all algorithms
  /// have.
  [[nodiscard]] Feedback feedback_for_auto() const;
  /// These options, for this algorithm.
  [[nodiscard]] TrainingOptions chosen(std::string_view algorithm) const;

  /// The given options over the defaults of the chosen algorithm and kind of feedback. Throws
  /// Error(kInvalidArgument) for a value outside its range, an option that the algorithm does not
  /// have, and one that would do nothing beside the others.
  [[nodiscard]] TrainingParams params() const;
  /// These with what suits the data where no option was given.
  [[nodiscard]] TrainingParams suited(const CsrView& by_user) const;
  /// params() over the parameters of a model to resume.
  [[nodiscard]] TrainingParams resumed(const TrainingParams& earlier) const;

 private:
  struct Given {
    std::string name;
    std::string option;
    std::string text;
  };
  void add(CLI::App& app, const ParameterInfo& parameter, const std::string& group);
  [[nodiscard]] TrainingParams applied(TrainingParams to) const;

  static constexpr const char* kAuto = "auto";

  std::string algorithm_ = "als";
  bool algorithm_given_ = false;
  std::vector<Given> given_;
};

}  // namespace likewise::cli
