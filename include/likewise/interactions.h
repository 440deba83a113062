// SPDX-License-Identifier: Apache-2.0
/// `Interactions`: who liked what, ready for training.
#pragma once

#include <vector>

#include "likewise/array.h"
#include "likewise/csr.h"
#include "likewise/id_map.h"
#include "likewise/time.h"

namespace likewise {

struct Interactions {
  IdMap users;
  IdMap items;
  CsrMatrix by_user;  ///< users.size() x items.size()
  Array<Time> times;  ///< empty, or beside by_user's entries
  /// What the file wrote all times as, kSeconds where it mixes forms: writing goes by it.
  TimeForm time_form = TimeForm::kSeconds;

  [[nodiscard]] bool has_times() const { return !times.empty(); }
};

}  // namespace likewise
