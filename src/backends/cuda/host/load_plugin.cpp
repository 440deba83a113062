// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/load_plugin.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/system/own_folder.h"
#include "likewise/error.h"
#include "likewise/version.h"

namespace likewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "liblikewise_cuda.so";
constexpr const char* kEntryPoint = "likewise_cuda_plugin";
constexpr const char* kFolderVariable = "LIKEWISE_PLUGIN_PATH";

/// Where the plug-in may lie, in the order of looking.
[[nodiscard]] std::vector<std::string> folders() {
  const char* named = std::getenv(kFolderVariable);
  if (named != nullptr && *named != '\0') return {named};
  const fs::path own = own_folder();
  if (own.empty()) return {};
  return {own, own.parent_path() / "lib" / "likewise"};
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
      fmt::format("there is no CUDA plug-in {} in {}. To use an NVIDIA GPU (compute capability "
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

/// The end of a part of a file by what the file says of it; the largest number where that
/// overflows.
[[nodiscard]] std::uint64_t end_of(std::uint64_t first, std::uint64_t length) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  return first > kMost - length ? kMost : first + length;
}

template <class T>
[[nodiscard]] bool read_at(std::ifstream& file, std::uint64_t at, T& to) {
  file.seekg(static_cast<std::streamoff>(at));
  return static_cast<bool>(file.read(reinterpret_cast<char*>(&to), sizeof(to)));
}

/// How many bytes a library has by its headers, as far as they are there; 0 for what is none of
/// ours, which dlopen refuses with the reason.
[[nodiscard]] std::uint64_t stated_size(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  const bool ours = read_at(file, 0, header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                    header.e_ident[EI_CLASS] == ELFCLASS64 &&
                    header.e_phentsize == sizeof(Elf64_Phdr);
  if (!ours) return 0;
  std::uint64_t size =
      std::max(end_of(header.e_phoff, std::uint64_t{header.e_phnum} * header.e_phentsize),
               end_of(header.e_shoff, std::uint64_t{header.e_shnum} * header.e_shentsize));
  for (std::uint64_t s = 0; s < header.e_phnum; ++s) {
    Elf64_Phdr segment{};
    if (!read_at(file, end_of(header.e_phoff, s * sizeof(segment)), segment)) break;
    if (segment.p_type == PT_LOAD)
      size = std::max(size, end_of(segment.p_offset, segment.p_filesz));
  }
  return size;
}

/// The loader maps what the headers name; touching what is not there would end the process.
void require_whole(const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (failed) return;  // dlopen says why
  if (!fs::is_regular_file(status)) refuse(path, "cannot be loaded: it is not a regular file");
  const std::uint64_t size = fs::file_size(path, failed);
  const std::uint64_t stated = stated_size(path);
  if (failed || stated <= size) return;
  refuse(path, fmt::format("cannot be loaded: it was cut short, to {} bytes of {}; copy or build "
                           "it again",
                           size, stated));
}

/// The CUDA runtime in it takes memory as it is loaded, and does not look whether it got any.
void require_room(const std::string& path) {
  constexpr std::uintmax_t kOfRuntime = std::uintmax_t{8} << 20;
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(path, failed);
  if (failed) return;  // dlopen says why
  const auto bytes = static_cast<std::size_t>(size + kOfRuntime);
  void* room = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) refuse(path, "cannot be loaded: there is not enough memory");
  munmap(room, bytes);
}

/// The plug-in of a file, unchecked.
[[nodiscard]] const CudaPlugin& open_file(const std::string& path) {
  require_whole(path);
  require_room(path);
  // Never closed: solvers, exceptions and the CUDA runtime's own threads need its code to the end.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) refuse(path, fmt::format("cannot be loaded: {}", last_problem()));
  void* symbol = dlsym(library, kEntryPoint);
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
  const CudaPlugin& plugin = open_file(path);
  require_same(path, "interface", std::to_string(plugin.interface_number),
               std::to_string(kPluginInterface));
  require_same(path, "version", plugin.version, kVersion);
  require_same(path, "compiler", plugin.compiler, kPluginCompiler);
  require_no_fork();
  return plugin;
}

}  // namespace likewise
