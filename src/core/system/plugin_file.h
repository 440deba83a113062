// SPDX-License-Identifier: Apache-2.0
/// Libraries that the program loads at run time, where they lie and whether they belong to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "likewise/error.h"

namespace likewise {

/// The compiler lays out the types that cross.
inline constexpr const char* kPluginCompiler = __VERSION__;
/// Names the folder to take plug-ins from.
inline constexpr const char* kPluginFolderVariable = "LIKEWISE_PLUGIN_PATH";

/// Which plug-in, for messages.
struct PluginName {
  const char* called;  ///< "CUDA plug-in"
  const char* file;    ///< "liblikewise_cuda.so"
  ErrorKind failure;   ///< of an error that says why it cannot be used
};

/// What a plug-in says of its build in plain numbers and text, readable whatever built it.
struct PluginBuild {
  std::int32_t interface_number = 0;
  const char* version = nullptr;   ///< kVersion
  const char* compiler = nullptr;  ///< kPluginCompiler
};

/// Where a plug-in may lie, in the order of looking: the folder that LIKEWISE_PLUGIN_PATH names;
/// where that is not set, next to the program and in ../lib/likewise seen from there.
[[nodiscard]] std::vector<std::string> plugin_folders();

/// The plug-in's path; empty where it lies in none of these.
[[nodiscard]] std::string find_plugin(const PluginName& name);

/// The entry point of the library `path`, which stays loaded until the process ends. Loading needs
/// room for the file and `more_bytes`. Throws what `name` says where it cannot be loaded.
[[nodiscard]] void* open_plugin(const PluginName& name, const std::string& path, const char* entry,
                                std::uint64_t more_bytes);

/// Throws where the build is not that of this program, whose interface has the number `ours`.
void require_own_build(const PluginName& name, const std::string& path, const PluginBuild& build,
                       std::int32_t ours);

/// Throws "the CUDA plug-in PATH PROBLEM".
[[noreturn]] void refuse_plugin(const PluginName& name, const std::string& path,
                                const std::string& problem);

}  // namespace likewise
