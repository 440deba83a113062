// SPDX-License-Identifier: Apache-2.0
/// --algorithm, and an option for every parameter of every algorithm. Names, defaults and texts are
/// the library's (likewise/parameters.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "likewise/training.h"

namespace likewise::cli {

/// The options that give these parameters: "--algorithm als --factors 32".
[[nodiscard]] std::string options_text(const TrainingParams& params);

/// A parameter of the library as its option: "--cg-steps 3". A Spelling.
[[nodiscard]] std::string as_option(std::string_view parameter, std::string_view value);

class TrainingOptions {
 public:
  /// Declares the options. Keeps a reference to this object.
  void add(CLI::App& app);

  /// Whether the data choose the algorithm: --algorithm auto.
  [[nodiscard]] bool is_auto() const { return algorithm_ == kAutoAlgorithm; }
  /// The algorithm and the options that were given.
  [[nodiscard]] TrainingRequest request() const;

 private:
  void add(CLI::App& app, const ParameterInfo& parameter, const std::string& group);

  static constexpr const char* kDefault = "als";

  std::string algorithm_;  ///< empty: not given
  std::vector<AskedParameter> asked_;
  bool fast_ = false;
};

}  // namespace likewise::cli
