// SPDX-License-Identifier: Apache-2.0
/// `Interactions`: who liked what, ready for training.
#pragma once

#include <vector>

#include "likewise/array.h"
#include "likewise/csr.h"
#include "likewise/id_map.h"

namespace likewise {

struct Interactions {
  IdMap users;
  IdMap items;
  CsrMatrix by_user;          ///< users.size() x items.size()
  Array<std::int64_t> times;  ///< empty, or seconds since 1970 beside by_user's entries

  [[nodiscard]] bool has_times() const { return !times.empty(); }
};

}  // namespace likewise
