// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace likewise {

/// The folder of the file that holds this code: the program, the plug-in or Python's extension.
/// What is installed together lies there. Empty where the system does not tell.
[[nodiscard]] std::filesystem::path own_folder();

}  // namespace likewise
