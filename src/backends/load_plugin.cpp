// SPDX-License-Identifier: Apache-2.0
#include "backends/load_plugin.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "likewise/error.h"
#include "likewise/version.h"

namespace likewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "liblikewise_cuda.so";
constexpr const char* kEntry = "likewise_cuda_plugin";
constexpr const char* kFolderVariable = "LIKEWISE_PLUGIN_PATH";

/// Where the plug-in may lie, in the order of looking.
[[nodiscard]] std::vector<std::string> folders() {
  const char* named = std::getenv(kFolderVariable);
  if (named != nullptr && *named != '\0') return {named};
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed).parent_path();
  if (failed) return {};
  return {program, (program.parent_path() / "lib" / "likewise")};
}

[[nodiscard]] std::string find_file() {
  const std::vector<std::string> looked = folders();
  for (const std::string& folder : looked) {
    const fs::path path = fs::path(folder) / kFile;
    std::error_code unreadable;
    if (fs::exists(path, unreadable) || unreadable) return path;
  }
  throw Error(
      ErrorKind::kDevice,
      fmt::format("there is no CUDA plug-in {} in {}. To use an NVIDIA card (compute capability "
                  "8.0 or newer) install the CUDA toolkit and build likewise again, or let {} name "
                  "the plug-in's folder",
                  kFile, fmt::join(looked, " or "), kFolderVariable));
}

[[noreturn]] void refuse(const std::string& path, const std::string& problem) {
  throw Error(ErrorKind::kDevice, fmt::format("the CUDA plug-in {} {}", path, problem));
}

[[nodiscard]] std::string last_problem() {
  const char* text = dlerror();
  return text == nullptr ? "no reason given" : text;
}

/// The plug-in of a file, unchecked.
[[nodiscard]] const CudaPlugin& open_file(const std::string& path) {
  // Never closed: solvers, exceptions and the CUDA runtime's own threads need its code to the end.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) refuse(path, fmt::format("cannot be loaded: {}", last_problem()));
  void* symbol = dlsym(library, kEntry);
  if (symbol == nullptr) refuse(path, fmt::format("is none: {}", last_problem()));
  const auto* plugin = reinterpret_cast<decltype(&likewise_cuda_plugin)>(symbol)();
  if (plugin == nullptr) refuse(path, "is empty");
  return *plugin;
}

void require_same(const std::string& path, const char* what, const std::string& theirs,
                  const std::string& ours) {
  if (theirs == ours) return;
  refuse(path, fmt::format("is of another build: its {} is {}, the program's {}. Use the plug-in "
                           "that was built with this program",
                           what, theirs, ours));
}

}  // namespace

const CudaPlugin& load_cuda_plugin() {
  const std::string path = find_file();
  const CudaPlugin& plugin = open_file(path);
  require_same(path, "interface", std::to_string(plugin.interface_number),
               std::to_string(kPluginInterface));
  require_same(path, "version", plugin.version, kVersion);
  require_same(path, "compiler", plugin.compiler, kPluginCompiler);
  return plugin;
}

}  // namespace likewise
