// SPDX-License-Identifier: Apache-2.0
/// What a shell reads to complete the program's words: verbs, their options, and the choices of
/// these.
#pragma once

#include <string>
#include <vector>

namespace likewise::cli {

struct OptionWords {
  std::vector<std::string> names;  ///< "--factors", "-n"
  std::string help;
  bool takes_value = false;
  std::vector<std::string> choices;  ///< of its value; none: a file, a number or a text
  bool is_list = false;              ///< several of these, with commas between them
};

struct VerbWords {
  std::string name;
  std::string summary;
  std::vector<OptionWords> options;
  std::vector<std::string> choices;  ///< of its argument; none: a file
};

/// The script for "bash", "zsh" or "fish".
[[nodiscard]] std::string completion_script(const std::string& shell,
                                            const std::vector<VerbWords>& verbs);

}  // namespace likewise::cli
