// SPDX-License-Identifier: Apache-2.0
#include "core/system/own_folder.h"

#include <dlfcn.h>
#include <link.h>
#include <system_error>

#include "likewise/version.h"

namespace likewise {

std::filesystem::path own_folder() {
  Dl_info found{};
  void* loaded = nullptr;
  const void* here = reinterpret_cast<const void*>(&own_folder);
  if (dladdr1(here, &found, &loaded, RTLD_DL_LINKMAP) == 0 || loaded == nullptr) return {};
  // The loader has no name for the program itself.
  const std::filesystem::path name = static_cast<const link_map*>(loaded)->l_name;
  std::error_code failed;
  const auto file = std::filesystem::canonical(name.empty() ? "/proc/self/exe" : name, failed);
  return failed ? std::filesystem::path() : file.parent_path();
}

bool is_python_package(const std::filesystem::path& folder) {
  std::error_code unreadable;
  return std::filesystem::exists(folder / "__init__.py", unreadable);
}

std::vector<std::filesystem::path> own_folders() {
  const std::filesystem::path own = own_folder();
  if (own.empty()) return {};
  std::vector<std::filesystem::path> folders{own};
  if (!is_python_package(own)) return folders;
  for (const char* name : {"likewise", kCudaPackage}) {
    const std::filesystem::path beside = own.parent_path() / name;
    if (beside != own) folders.push_back(beside);
  }
  return folders;
}

std::string pip_install_cuda() {
  if (!is_python_package(own_folder())) return {};
  return std::string("pip install likewise-cuda13==") + kVersion;
}

std::string own_file(const char* name) {
  for (const std::filesystem::path& folder : own_folders()) {
    std::error_code unreadable;
    if (std::filesystem::exists(folder / name, unreadable)) return folder / name;
  }
  return name;
}

}  // namespace likewise
