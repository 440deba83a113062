// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/load_plugin.h"

#include <cstdint>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/system/own_folder.h"
#include "core/system/plugin_file.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr PluginName kName{"CUDA plug-in", "liblikewise_cuda.so", ErrorKind::kDevice};
constexpr const char* kEntryPoint = "likewise_cuda_plugin";
/// Of the CUDA runtime in it.
constexpr std::uint64_t kRuntimeBytes = std::uint64_t{8} << 20;

[[nodiscard]] std::string remedy() {
  const std::string install = pip_install_cuda();
  if (install.empty()) return "install the CUDA toolkit and build likewise again";
  return fmt::format(
      "run `pip install ./python/cuda` in likewise's source, where the CUDA toolkit is, or `{}` "
      "where likewise came as a wheel",
      install);
}

/// The packages of pip are of one version.
void require_build_of_this_program(const std::string& path, const CudaPlugin& plugin) {
  try {
    require_own_build(kName, path, {plugin.interface_number, plugin.version, plugin.compiler},
                      kPluginInterface);
  } catch (const Error& error) {
    const std::string install = pip_install_cuda();
    if (install.empty()) throw;
    throw Error(error.kind(), fmt::format("{}: `{}`", error.what(), install));
  }
}

[[nodiscard]] std::string find_file() {
  std::string path = find_plugin(kName);
  if (!path.empty()) return path;
  throw Error(ErrorKind::kDevice,
              fmt::format("there is no CUDA plug-in {} in {}. To use an NVIDIA GPU (compute "
                          "capability 8.0 or newer) {}, or let {} name the plug-in's folder",
                          kName.file, fmt::join(plugin_folders(), " or "), remedy(),
                          kPluginFolderVariable));
}

/// The driver works only in the process that began to use it, and looking for GPUs is use.
void require_no_fork() {
  static const pid_t first = getpid();
  if (getpid() == first) return;
  throw Error(ErrorKind::kDevice,
              fmt::format("this process was forked from process {} after that one had looked for "
                          "GPUs, and CUDA cannot be used on both sides of a fork. Start processes "
                          "anew (in Python: multiprocessing.get_context(\"spawn\")), or take the "
                          "CPU",
                          first));
}

}  // namespace

const CudaPlugin& load_cuda_plugin() {
  const std::string path = find_file();
  void* entry = open_plugin(kName, path, kEntryPoint, kRuntimeBytes);
  const CudaPlugin* plugin = reinterpret_cast<decltype(&likewise_cuda_plugin)>(entry)();
  if (plugin == nullptr) refuse_plugin(kName, path, "is empty");
  require_build_of_this_program(path, *plugin);
  require_no_fork();
  return *plugin;
}

}  // namespace likewise
