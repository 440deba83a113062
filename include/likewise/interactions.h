// SPDX-License-Identifier: Apache-2.0
/// `Interactions`: who liked what, ready for training.
#pragma once

#include <functional>
#include <string>
#include <string_view>
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
  /// Where a file holds the value of a user and an item, for messages: "ratings.csv:17", or nothing
  /// where it does not. Reads the file again. Empty for data that came from no file.
  std::function<std::string(std::string_view user, std::string_view item)> place_in_file{};

  [[nodiscard]] bool has_times() const { return !times.empty(); }
};

}  // namespace likewise
