// SPDX-License-Identifier: Apache-2.0
/// `run_program`: the main() of benchmarks that take words.
#pragma once

#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace likewise {

/// run(the words of the command line) says how to exit; what it throws is told after the program's
/// name, and 1 is returned.
template <class Run>
int run_program(int argc, char** argv, const Run& run) {
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    const std::string name = std::filesystem::path(argv[0]).filename().string();
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 1;
  }
}

}  // namespace likewise
