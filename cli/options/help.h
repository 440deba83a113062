// SPDX-License-Identifier: Apache-2.0
/// How `likewise VERB --help` looks: wrapped to 96 columns, examples before the options, defaults
/// in brackets.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace likewise::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  /// With the text that CLI11 calls footer: what the verb does, and examples.
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_footer(const CLI::App* app) const override;
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
};

}  // namespace likewise::cli
