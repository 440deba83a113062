// SPDX-License-Identifier: Apache-2.0
/// Errors of memory do not know which file was being read when it ran out.
#pragma once

#include <new>
#include <string>

#include <fmt/format.h>

#include "core/system/memory.h"
#include "likewise/error.h"

namespace likewise {

/// read(), whose failures for want of memory name the file.
template <class Read>
auto naming_the_file(const std::string& file, const Read& read) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kOutOfMemory,
                fmt::format("{}: not enough memory to read it ({} are available)", file,
                            size_text(static_cast<double>(available_memory()))));
  } catch (const Error& error) {
    const std::string why = error.what();
    if (error.kind() != ErrorKind::kOutOfMemory || why.starts_with(file + ":")) throw;
    throw Error(ErrorKind::kOutOfMemory, fmt::format("{}: {}", file, why));
  }
}

}  // namespace likewise
