// SPDX-License-Identifier: Apache-2.0
#include "core/system/plugin_file.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sys/mman.h>
#include <system_error>

#include <fmt/format.h>

#include "core/system/own_folder.h"
#include "likewise/version.h"

namespace likewise {
namespace {

namespace fs = std::filesystem;

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
void require_whole(const PluginName& name, const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (failed) return;  // dlopen says why
  if (!fs::is_regular_file(status))
    refuse_plugin(name, path, "cannot be loaded: it is not a regular file");
  const std::uint64_t size = fs::file_size(path, failed);
  const std::uint64_t stated = stated_size(path);
  if (failed || stated <= size) return;
  refuse_plugin(
      name, path,
      fmt::format("cannot be loaded: it was cut short, to {} bytes of {}; copy or build it again",
                  size, stated));
}

/// What is in it may take memory as it is loaded, and not look whether it got any.
void require_room(const PluginName& name, const std::string& path, std::uint64_t more_bytes) {
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(path, failed);
  if (failed) return;  // dlopen says why
  const auto bytes = static_cast<std::size_t>(size + more_bytes);
  void* room = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) {
    refuse_plugin(name, path, "cannot be loaded: there is not enough memory");
  }
  munmap(room, bytes);
}

void require_same(const PluginName& name, const std::string& path, const char* what,
                  const std::string& theirs, const std::string& ours) {
  if (theirs == ours) return;
  refuse_plugin(name, path,
                fmt::format("is of another build: its {} is {}, the program's {}. Use the plug-in "
                            "that was built with this program",
                            what, theirs, ours));
}

}  // namespace

void refuse_plugin(const PluginName& name, const std::string& path, const std::string& problem) {
  throw Error(name.failure, fmt::format("the {} {} {}", name.called, path, problem));
}

std::vector<std::string> plugin_folders() {
  const char* named = std::getenv(kPluginFolderVariable);
  if (named != nullptr && *named != '\0') return {named};
  std::vector<std::string> folders;
  for (const fs::path& folder : own_folders()) folders.push_back(folder);
  const fs::path own = own_folder();
  if (!own.empty() && !is_python_package(own))
    folders.push_back(own.parent_path() / "lib" / "likewise");
  return folders;
}

std::string find_plugin(const PluginName& name) {
  for (const std::string& folder : plugin_folders()) {
    const fs::path path = fs::path(folder) / name.file;
    std::error_code unreadable;
    if (fs::exists(path, unreadable) || unreadable) return path;
  }
  return {};
}

void* open_plugin(const PluginName& name, const std::string& path, const char* entry,
                  std::uint64_t more_bytes) {
  require_whole(name, path);
  require_room(name, path, more_bytes);
  // Never closed: exceptions, objects and threads that come from it need its code to the end.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    refuse_plugin(name, path, fmt::format("cannot be loaded: {}", last_problem()));
  }
  void* symbol = dlsym(library, entry);
  if (symbol == nullptr) refuse_plugin(name, path, fmt::format("is none: {}", last_problem()));
  return symbol;
}

void require_own_build(const PluginName& name, const std::string& path, const PluginBuild& build,
                       std::int32_t ours) {
  require_same(name, path, "interface", std::to_string(build.interface_number),
               std::to_string(ours));
  require_same(name, path, "version", build.version, kVersion);
  require_same(name, path, "compiler", build.compiler, kPluginCompiler);
}

}  // namespace likewise
