// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <fmt/format.h>

#include "likewise/error.h"
#include "likewise/recommender.h"

namespace likewise {

/// What `work` returns; an error about a new row says which by name_of(number).
template <class NameOf, class Work>
[[nodiscard]] auto naming_rows(const NameOf& name_of, const Work& work) {
  try {
    return work();
  } catch (const RowError& error) {
    throw Error(error.kind(),
                fmt::format("{}: {}", printable(name_of(error.row())), error.reason()));
  }
}

}  // namespace likewise
