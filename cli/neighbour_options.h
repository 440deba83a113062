// SPDX-License-Identifier: Apache-2.0
/// The options of item-knn and user-knn: names and defaults are those of NeighbourParams.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "likewise/neighbourhood.h"

namespace likewise::cli {

class NeighbourOptions {
 public:
  /// Declares --neighbours, --similarity, ... Keeps a reference to this object.
  void add(CLI::App& app);

  /// The given options over the defaults of a kind of feedback; validated.
  [[nodiscard]] NeighbourParams params(Feedback feedback, Side side) const;
  [[nodiscard]] bool given() const { return !changes_.empty(); }

 private:
  template <class T, class Field>
  void number(CLI::App& app, const std::string& flag, Field NeighbourParams::*field,
              const std::string& text, const std::string& usual = "");
  template <class T>
  void choice(CLI::App& app, const std::string& flag,
              const std::vector<std::pair<std::string, T>>& choices, T NeighbourParams::*field,
              const std::string& text, const std::string& usual = "");

  std::vector<std::function<void(NeighbourParams&)>> changes_;
};

}  // namespace likewise::cli
