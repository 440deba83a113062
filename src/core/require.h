// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "likewise/error.h"

namespace likewise {

/// Throws an Error of an invalid argument with this message unless `fits`.
inline void require(bool fits, const std::string& message) {
  if (!fits) throw Error(ErrorKind::kInvalidArgument, message);
}

}  // namespace likewise
