// SPDX-License-Identifier: Apache-2.0
/// The training options: names and defaults are those of AlsParams.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "likewise/als.h"

namespace likewise::cli {

class TrainingOptions {
 public:
  /// Declares --feedback, --factors, ... Keeps a reference to this object.
  void add(CLI::App& app);

  [[nodiscard]] Feedback feedback() const { return feedback_; }
  /// Whether an option was given that only factors have a use for.
  [[nodiscard]] bool given() const { return !changes_.empty(); }

  /// The given options over the defaults of the chosen kind of feedback; validated.
  [[nodiscard]] AlsParams params() const;
  /// The given options over the parameters of a model to resume; validated. Throws
  /// Error(kInvalidArgument) when feedback or factors would differ from the model's.
  [[nodiscard]] AlsParams resumed(const AlsParams& base) const;

 private:
  using Change = std::function<void(AlsParams&)>;
  template <class T, class Field>
  CLI::Option* number(CLI::App& app, const std::string& flag, Field AlsParams::*field,
                      const std::string& text);
  template <class T>
  CLI::Option* choice(CLI::App& app, const std::string& flag,
                      const std::vector<std::pair<std::string, T>>& choices, T AlsParams::*field,
                      const std::string& text);
  [[nodiscard]] AlsParams applied(AlsParams to) const;

  Feedback feedback_ = Feedback::kImplicit;
  std::vector<Change> changes_;
};

}  // namespace likewise::cli
