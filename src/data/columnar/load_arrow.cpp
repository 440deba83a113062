// SPDX-License-Identifier: Apache-2.0
#include "data/columnar/load_arrow.h"

#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/system/plugin_file.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr PluginName kArrow{"Arrow plug-in", "liblikewise_arrow.so", ErrorKind::kBadData};
/// Of Arrow's libraries, which take memory as they are loaded.
constexpr std::uint64_t kLibraryBytes = std::uint64_t{256} << 20;

[[noreturn]] void refuse_without(const std::string& file, const char* what) {
  throw Error(
      ErrorKind::kBadData,
      fmt::format("{}: is {}, which needs the plug-in {}, and there is none in {}. Build likewise "
                  "again where Arrow's C++ library is (pip install pyarrow into .venv has it), or "
                  "read the file in Python with pyarrow, likewise.Interactions(\"FILE\")",
                  file, what, kArrow.file, fmt::join(plugin_folders(), " or ")));
}

}  // namespace

const ArrowPlugin& load_arrow_plugin(const std::string& file, const char* what) {
  const std::string path = find_plugin(kArrow);
  if (path.empty()) refuse_without(file, what);
  void* entry = open_plugin(kArrow, path, "likewise_arrow_plugin", kLibraryBytes);
  const ArrowPlugin* plugin = reinterpret_cast<decltype(&likewise_arrow_plugin)>(entry)();
  if (plugin == nullptr) refuse_plugin(kArrow, path, "is empty");
  require_own_build(kArrow, path, {plugin->interface_number, plugin->version, plugin->compiler},
                    kArrowInterface);
  return *plugin;
}

}  // namespace likewise
