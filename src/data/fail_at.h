// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "likewise/error.h"

namespace likewise {

/// Throws the error of a place: "tags.csv:3: why".
[[noreturn]] inline void fail_at(ErrorKind kind, const std::string& place, const std::string& why) {
  throw Error(kind, place + ": " + why);
}

}  // namespace likewise
