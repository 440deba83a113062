// SPDX-License-Identifier: Apache-2.0
#include "core/system/utc_now.h"

#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace likewise {

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace likewise
