// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "likewise/error.h"

namespace likewise {

/// Throws an Error: what a model file holds cannot be.
[[noreturn]] inline void bad_data(const std::string& why) { throw Error(ErrorKind::kBadData, why); }

}  // namespace likewise
