// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "likewise/synthetic.h"

namespace likewise {

/// The demo's films, by title (byte order). Always the same ones: what is good about a title cannot
/// be left to a seed.
[[nodiscard]] std::vector<Film> catalogue_films();

}  // namespace likewise
