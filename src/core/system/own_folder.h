// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace likewise {

/// The folder of the file that holds this code: the program, the plug-in or Python's extension.
/// What is installed together lies there. Empty where the system does not tell.
[[nodiscard]] std::filesystem::path own_folder();

/// The package of Python that holds the CUDA plug-in alone; its name has the toolkit's generation.
inline constexpr const char* kCudaPackage = "likewise_cuda13";

/// How pip gets that package in the version of this code: "pip install likewise-cuda13==0.1.0".
/// Empty where pip did not bring likewise.
[[nodiscard]] std::string pip_install_cuda();

/// Whether `folder` is a package of Python.
[[nodiscard]] bool is_python_package(const std::filesystem::path& folder);

/// Where files may lie that belong to this code, in the order of looking: own_folder(), and where
/// that is a package of Python, the packages `likewise` and kCudaPackage beside it.
[[nodiscard]] std::vector<std::filesystem::path> own_folders();

/// The first of them that holds `name`, as a path of that file; `name` alone where none does.
[[nodiscard]] std::string own_file(const char* name);

}  // namespace likewise
