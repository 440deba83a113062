// SPDX-License-Identifier: Apache-2.0
#include "core/system/own_folder.h"

#include <dlfcn.h>
#include <link.h>
#include <system_error>

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

}  // namespace likewise
