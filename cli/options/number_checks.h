// SPDX-License-Identifier: Apache-2.0
/// Numbers on the command line are what they look like: 010 is not 8, -1 no large seed, and nan no
/// number.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace likewise::cli {

/// What is wrong with the text of a whole number from 0 on; empty where nothing is.
[[nodiscard]] std::string whole_number_fault(const std::string& text);
/// The same of a decimal number.
[[nodiscard]] std::string real_number_fault(const std::string& text);

/// Checks every option of the verb that says it takes a number (N, X, SHARE).
void check_numbers(CLI::App& app);

}  // namespace likewise::cli
