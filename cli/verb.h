// SPDX-License-Identifier: Apache-2.0
/// A verb of the command line: `add_train` declares the options of `likewise train` on an empty
/// CLI::App and returns what runs once they are parsed. One file per verb; main.cpp has the table.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace likewise::cli {

using Run = std::function<void()>;

Run add_demo(CLI::App& app);
Run add_generate(CLI::App& app);
Run add_split(CLI::App& app);
Run add_train(CLI::App& app);
Run add_tune(CLI::App& app);
Run add_update(CLI::App& app);
Run add_evaluate(CLI::App& app);
Run add_cross_validate(CLI::App& app);
Run add_predict(CLI::App& app);
Run add_recommend(CLI::App& app);
Run add_similar(CLI::App& app);
Run add_report(CLI::App& app);
Run add_compare(CLI::App& app);
Run add_autotune(CLI::App& app);
Run add_info(CLI::App& app);
Run add_serve(CLI::App& app);
Run add_mcp(CLI::App& app);

}  // namespace likewise::cli
